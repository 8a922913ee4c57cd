/* SPDX-License-Identifier: MIT */
/* A peer for tests of interoperation: lwIP's TCP over a TUN device that exists, driven by this loop
 * (no thread of lwIP's). It exchanges streams of known bytes and compares what it gets.
 *
 *   lwip_peer DEVICE OWN_ADDRESS listen PORT
 *   lwip_peer DEVICE OWN_ADDRESS connect ADDRESS PORT
 *
 * It prints "ready", and at the end "right" or what was wrong. */
#include <asm/ioctl.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/pbuf.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* <net/if.h> and lwIP's headers do not go together: what is needed of it. */
struct device_request {
  char name[16];
  short flags;
  char rest[22];
};
extern int ioctl(int fd, unsigned long what, ...);

#define STREAM_BYTES 1500000u

static int device;
static uint32_t sent, got;
static uint32_t send_noise = 1, receive_noise = 2;
static int peer_finished, sent_fin;
static uint8_t piece[8192];
static uint32_t in_piece, of_piece;
static uint64_t rests_until;
static uint32_t unread;
static struct tcp_pcb* open_pcb;

static void fail(const char* what) {
  printf("%s\n", what);
  exit(1);
}

static uint8_t next_noise(uint32_t* x) {
  *x = *x * 1664525u + 1013904223u;
  return (uint8_t)(*x >> 24);
}

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static err_t to_device(struct netif* n, struct pbuf* p, const ip4_addr_t* to) {
  uint8_t packet[2048];
  (void)n;
  (void)to;
  if (p->tot_len > sizeof packet) return ERR_BUF;
  pbuf_copy_partial(p, packet, p->tot_len, 0);
  return write(device, packet, p->tot_len) < 0 ? ERR_IF : ERR_OK;
}

/* The kernel asks for routers by IPv6; lwIP must not answer. */
static err_t to_device_v6(struct netif* n, struct pbuf* p, const ip6_addr_t* to) {
  (void)n;
  (void)p;
  (void)to;
  return ERR_OK;
}

static err_t start_device(struct netif* n) {
  n->name[0] = 't';
  n->name[1] = 'n';
  n->mtu = 1500;
  n->output = to_device;
  n->output_ip6 = to_device_v6;
  return ERR_OK;
}

static void push(struct tcp_pcb* c) {
  for (;;) {
    if (of_piece == in_piece) {
      of_piece = 0;
      in_piece = STREAM_BYTES - sent < sizeof piece ? STREAM_BYTES - sent : sizeof piece;
      for (uint32_t i = 0; i != in_piece; ++i) piece[i] = next_noise(&send_noise);
      sent += in_piece;
      if (in_piece == 0) break;
    }
    uint32_t some = in_piece - of_piece;
    if (some > tcp_sndbuf(c)) some = tcp_sndbuf(c);
    if (some == 0 || tcp_write(c, piece + of_piece, (u16_t)some, TCP_WRITE_FLAG_COPY) != ERR_OK)
      break;
    of_piece += some;
  }
  if (sent == STREAM_BYTES && of_piece == in_piece && !sent_fin)
    sent_fin = tcp_shutdown(c, 0, 1) == ERR_OK;
  tcp_output(c);
}

static err_t on_sent(void* arg, struct tcp_pcb* c, u16_t bytes) {
  (void)arg;
  (void)bytes;
  push(c);
  return ERR_OK;
}

static err_t on_received(void* arg, struct tcp_pcb* c, struct pbuf* p, err_t e) {
  (void)arg;
  (void)e;
  if (p == NULL) {
    peer_finished = 1;
    return ERR_OK;
  }
  for (struct pbuf* q = p; q != NULL; q = q->next)
    for (uint32_t i = 0; i != q->len; ++i)
      if (((uint8_t*)q->payload)[i] != next_noise(&receive_noise)) fail("a wrong byte came");
  if (got == 0) rests_until = now_ms() + 300; /* the window closes */
  got += p->tot_len;
  unread += p->tot_len;
  pbuf_free(p);
  if (now_ms() >= rests_until) {
    tcp_recved(c, (u16_t)unread);
    unread = 0;
  }
  return ERR_OK;
}

static void on_error(void* arg, err_t e) {
  (void)arg;
  (void)e;
  if (!(peer_finished && sent_fin)) fail("the connection was reset");
  open_pcb = NULL;
}

static err_t on_open(void* arg, struct tcp_pcb* c, err_t e) {
  if (e != ERR_OK) fail("the connection did not open");
  open_pcb = c;
  tcp_arg(c, arg);
  tcp_recv(c, on_received);
  tcp_sent(c, on_sent);
  tcp_err(c, on_error);
  push(c);
  return ERR_OK;
}

static void turn(struct netif* n) {
  struct pollfd ready = {device, POLLIN, 0};
  poll(&ready, 1, 5);
  for (int i = 0; i != 64; ++i) {
    uint8_t packet[2048];
    const ssize_t bytes = read(device, packet, sizeof packet);
    if (bytes <= 0) break;
    if (packet[0] >> 4 != 4) continue;
    struct pbuf* p = pbuf_alloc(PBUF_RAW, (u16_t)bytes, PBUF_RAM);
    if (p == NULL) continue;
    pbuf_take(p, packet, (u16_t)bytes);
    if (n->input(p, n) != ERR_OK) pbuf_free(p);
  }
  sys_check_timeouts();
  if (open_pcb != NULL && unread != 0 && now_ms() >= rests_until) {
    tcp_recved(open_pcb, (u16_t)unread);
    unread = 0;
  }
}

int main(int argc, char** argv) {
  if (argc < 5) fail("usage: lwip_peer DEVICE OWN_ADDRESS listen PORT | connect ADDRESS PORT");
  struct device_request r;
  memset(&r, 0, sizeof r);
  strncpy(r.name, argv[1], sizeof r.name - 1);
  r.flags = IFF_TUN | IFF_NO_PI;
  device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (device < 0 || ioctl(device, TUNSETIFF, &r) != 0) fail("the TUN device cannot be opened");
  setvbuf(stdout, NULL, _IONBF, 0);

  lwip_init();
  struct netif n;
  memset(&n, 0, sizeof n);
  ip4_addr_t own, mask, gateway;
  ip4addr_aton(argv[2], &own);
  ip4addr_aton("255.255.255.0", &mask);
  gateway = own;
  netif_add(&n, &own, &mask, &gateway, NULL, start_device, ip_input);
  netif_set_default(&n);
  netif_set_up(&n);
  netif_set_link_up(&n);

  struct tcp_pcb* c = tcp_new();
  if (strcmp(argv[3], "listen") == 0) {
    tcp_bind(c, IP_ANY_TYPE, (u16_t)atoi(argv[4]));
    c = tcp_listen(c);
    tcp_accept(c, on_open);
  } else {
    ip_addr_t to;
    ipaddr_aton(argv[4], &to);
    tcp_connect(c, &to, (u16_t)atoi(argv[5]), on_open);
  }
  printf("ready\n");
  const uint64_t limit = now_ms() + 90000;
  while (!(peer_finished && sent_fin && open_pcb != NULL && open_pcb->unacked == NULL &&
           open_pcb->unsent == NULL)) {
    if (now_ms() > limit) fail("it took too long");
    if (peer_finished && sent_fin && open_pcb == NULL) break;
    turn(&n);
  }
  for (const uint64_t end = now_ms() + 500; now_ms() < end;) turn(&n); /* the last ACKs */
  if (got != STREAM_BYTES) fail("bytes are missing");
  printf("right\n");
  return 0;
}
