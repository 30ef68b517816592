# Every command sets up what it needs first: see scripts/setup.
.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-arm test-faults test-mutants test-torch-full peers bench results lint format clean

help:
	@echo 'make demo      train LeNet on two processes, through Weft and through Gloo'
	@echo 'make test      build, then the tests: C++, sanitizers, Python'
	@echo 'make test-long  what make test leaves out: each source by itself, PyTorch'"'"'s own tests (some minutes)'
	@echo 'make test-arm  the C++ tests for 64-bit Arm, under qemu-user'
	@echo 'make test-faults  kill a thousand ranks at random; no number may be wrong (20 minutes, root)'
	@echo 'make test-mutants  all mutants of the built-in plans: what is proved must run right (some minutes; can be broken off)'
	@echo 'make test-torch-full  the tests that PyTorch has for a backend, on Weft (a quarter of an hour; can be broken off)'
	@echo 'make peers     set up the libraries that `weft bench --peers` measures against'
	@echo 'make bench     measure everything beside all of them into docs/results (half an hour)'
	@echo 'make results   write the pages of docs/results from docs/results/data'
	@echo 'make lint      formatting, linters, types and the include arrows'
	@echo 'make format    format the sources in place'
	@echo 'make clean     remove build/ (.venv stays)'

demo:
	@scripts/setup demo
	@.venv/bin/python examples/lenet/demo.py

test:
	@scripts/setup test
	@scripts/test

test-long:
	@scripts/setup test
	@scripts/test-long

test-arm:
	@scripts/setup arm
	@scripts/test-arm

test-faults:
	@scripts/setup test
	@scripts/test-faults

test-mutants:
	@scripts/setup test
	@scripts/test-mutants

test-torch-full:
	@scripts/setup test
	@scripts/test-torch-full

peers:
	@scripts/peers

bench:
	@scripts/setup demo
	@scripts/peers
	@scripts/bench

results:
	@scripts/setup demo
	@scripts/results/all

lint:
	@scripts/setup lint
	@scripts/lint

format:
	@scripts/setup lint
	@scripts/lint --fix

clean:
	rm -rf build
