// Eight bytes between two processes over libfabric alone: how long one way takes if they answer
// each other, and how long an exchange takes in which both send at once, as in an allreduce.
//
//   exchange PROVIDER ADDRESS DIRECTORY RANK     on each of two hosts; DIRECTORY is for both
//
// Prints microseconds of one way and of an exchange, of 20000 each; rank 0 only.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kReceives = 8, kBytes = 8, kTurns = 20000 };

static struct fid_ep* endpoint;
static struct fid_cq* completions;
static fi_addr_t peer;
static struct fi_context2 contexts[kReceives];
static char buffers[kReceives][64];

static void check(const char* what, long code) {
  if (code == 0) return;
  fprintf(stderr, "exchange: %s: %s\n", what, fi_strerror((int)-code));
  exit(1);
}

static void post(int i) {
  check("fi_recv", fi_recv(endpoint, buffers[i], sizeof buffers[i], NULL, FI_ADDR_UNSPEC,
                           &contexts[i]));
}

static void await_message(void) {
  struct fi_cq_data_entry entry;
  long count;
  while ((count = fi_cq_read(completions, &entry, 1)) == -FI_EAGAIN) {
  }
  if (count != 1) check("fi_cq_read", count);
  post((int)((struct fi_context2*)entry.op_context - contexts));
}

static void send_message(void) {
  static const char bytes[kBytes];
  struct fi_cq_data_entry none;
  long code;
  // Connecting needs progress.
  while ((code = fi_inject(endpoint, bytes, kBytes, peer)) == -FI_EAGAIN) {
    (void)fi_cq_read(completions, &none, 0);
  }
  check("fi_inject", code);
}

static void open_endpoint(const char* provider, const char* address) {
  struct fi_info *hints = fi_allocinfo(), *info;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = strdup(provider);
  check("fi_getinfo", fi_getinfo(FI_VERSION(1, 14), address, NULL, FI_SOURCE, hints, &info));
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_av* addresses;
  struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
  struct fi_av_attr table = {.type = FI_AV_TABLE};
  check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
  check("fi_domain", fi_domain(fabric, info, &domain, NULL));
  check("fi_cq_open", fi_cq_open(domain, &queue, &completions, NULL));
  check("fi_av_open", fi_av_open(domain, &table, &addresses, NULL));
  check("fi_endpoint", fi_endpoint(domain, info, &endpoint, NULL));
  check("fi_ep_bind", fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
  check("fi_enable", fi_enable(endpoint));
  for (int i = 0; i < kReceives; ++i) post(i);
  peer = (fi_addr_t)(size_t)addresses;  // until meet()
}

// Each leaves its name in a file for the other.
static void meet(const char* directory, int rank) {
  char name[256] = {0}, path[4096], part[4100];
  size_t length = sizeof name;
  check("fi_getname", fi_getname(&endpoint->fid, name, &length));
  snprintf(path, sizeof path, "%s/%d", directory, rank);
  snprintf(part, sizeof part, "%s.new", path);
  FILE* file = fopen(part, "w");
  if (!file || fwrite(name, sizeof name, 1, file) != 1 || fclose(file) || rename(part, path)) {
    check(path, -FI_EIO);
  }
  snprintf(path, sizeof path, "%s/%d", directory, 1 - rank);
  while (!(file = fopen(path, "r"))) usleep(1000);
  if (fread(name, sizeof name, 1, file) != 1) check(path, -FI_EIO);
  fclose(file);
  struct fid_av* addresses = (struct fid_av*)(size_t)peer;
  if (fi_av_insert(addresses, name, 1, &peer, 0, NULL) != 1) check("fi_av_insert", -FI_EINVAL);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void answer(int rank) {
  if (rank == 0) send_message();
  await_message();
  if (rank == 1) send_message();
}

static void exchange(int rank) {
  (void)rank;
  send_message();
  await_message();
}

static double timed(void (*turn)(int), int rank) {
  for (int i = 0; i < kTurns / 10; ++i) turn(rank);
  const double start = now();
  for (int i = 0; i < kTurns; ++i) turn(rank);
  return (now() - start) / kTurns;
}

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "exchange PROVIDER ADDRESS DIRECTORY RANK\n"), 2;
  const int rank = atoi(argv[4]);
  open_endpoint(argv[1], argv[2]);
  meet(argv[3], rank);
  const double there_and_back = timed(answer, rank), both = timed(exchange, rank);
  if (rank == 0) printf("%.3f %.3f\n", there_and_back / 2, both);
  return 0;
}
