# One line for each thing done; its output goes to build/log and is shown when it fails.
# Sourced, from the root of the checkout.

mkdir -p build/log

step() { if [[ -t 1 ]]; then printf '\033[1m==>\033[0m %s\n' "$*"; else printf '==> %s\n' "$*"; fi; }
note() { printf '    %s\n' "$*"; }
die() {
  printf 'weft: %s\n' "$*" >&2
  exit 1
}

# logged NAME COMMAND...: the compiler's progress is shown, the rest goes to build/log/NAME.log.
logged() {
  local log=build/log/$1.log
  shift
  if ! "$@" 2>&1 | tee "$log" | { grep --line-buffered -oE '\[[0-9]+/[0-9]+\] .*|-- weft: .*' || true; } \
    | show_progress; then
    printf '\nweft: failed: %s\n' "$*" >&2
    tail -n 60 "$log" >&2
    die "the whole output is in $log"
  fi
}

# A terminal gets one line that changes; a log gets every tenth.
show_progress() {
  local line count=0 width=$((${COLUMNS:-80} - 5))
  while IFS= read -r line; do
    if [[ $line == '-- weft: '* ]]; then
      note "${line#-- weft: }"
    elif [[ -t 1 ]]; then
      printf '\r\033[K    %s' "${line:0:$width}"
    elif ((count++ % 10 == 0)); then
      note "$line"
    fi
  done
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

# run_ctest BUILD COMMAND...: failures, ctest's closing lines, and how many cases were run. COMMAND
# is ctest, with what is before and after it. A terminal also sees where it is. GTEST_FILTER chooses
# the cases.
run_ctest() {
  local build=$1 result=0
  shift
  local command=("$@" --test-dir "$build" --output-on-failure --parallel "$jobs")
  rm -rf "$build/cases"
  if [[ -t 1 ]]; then
    "${command[@]}" --progress || result=$?
  else
    "${command[@]}" | grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#.* Passed )' || result=$?
  fi
  # The first "tests" of a file is of all that its process ran.
  note "$(grep -shm1 '^  "tests":' "$build"/cases/*.json | grep -oE '[0-9]+' | awk '{ n += $1 } END { print n + 0 }') cases of GoogleTest"
  return "$result"
}

# pip_install WHAT ARGUMENTS...
pip_install() {
  step "$1"
  shift
  logged pip .venv/bin/python -m pip install --progress-bar off "$@"
}
