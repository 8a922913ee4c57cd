// SPDX-License-Identifier: MIT

// A peer for tests of interoperation: gVisor's TCP over a TUN device that exists. It exchanges
// streams of known bytes and compares what it gets.
//
//	gvisor_peer DEVICE OWN_ADDRESS listen PORT
//	gvisor_peer DEVICE OWN_ADDRESS connect ADDRESS PORT
//
// It prints "ready", and at the end "right" or what was wrong.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const streamBytes = 1500000

// The same generator as the test's.
type noise uint32

func (n *noise) next() byte {
	*n = *n*1664525 + 1013904223
	return byte(*n >> 24)
}

func fail(what string) {
	fmt.Println(what)
	os.Exit(1)
}

func must(err error, what string) {
	if err != nil {
		fail(what + ": " + err.Error())
	}
}

func mustTCPIP(err tcpip.Error, what string) {
	if err != nil {
		fail(what + ": " + err.String())
	}
}

func newStack(device string, own tcpip.Address) *stack.Stack {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	sack := tcpip.TCPSACKEnabled(true)
	mustTCPIP(s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack), "SACK")
	fd, err := tun.Open(device)
	must(err, device)
	link, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: 1500})
	must(err, "the link")
	mustTCPIP(s.CreateNIC(1, link), "the device")
	mustTCPIP(s.AddProtocolAddress(1, tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: own.WithPrefix(),
	}, stack.AddressProperties{}), "the address")
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s
}

func exchange(c net.Conn) {
	done := make(chan error, 1)
	go func() {
		n := noise(1)
		piece := make([]byte, 30000)
		for left := streamBytes; left > 0; {
			some := min(left, len(piece))
			for i := range piece[:some] {
				piece[i] = n.next()
			}
			if _, err := c.Write(piece[:some]); err != nil {
				done <- err
				return
			}
			left -= some
		}
		done <- c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	n := noise(2)
	piece := make([]byte, 65536)
	total := 0
	for {
		some, err := c.Read(piece)
		for _, b := range piece[:some] {
			if b != n.next() {
				fail(fmt.Sprintf("a wrong byte near %d", total))
			}
		}
		if total == 0 && some > 0 {
			time.Sleep(300 * time.Millisecond) // the window closes
		}
		total += some
		if err == io.EOF {
			break
		}
		must(err, "read")
	}
	if total != streamBytes {
		fail(fmt.Sprintf("%d bytes came", total))
	}
	must(<-done, "write")
}

func port(text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	must(err, text)
	return uint16(n)
}

func main() {
	if len(os.Args) < 5 {
		fail("usage: gvisor_peer DEVICE OWN_ADDRESS listen PORT | connect ADDRESS PORT")
	}
	own := tcpip.AddrFromSlice(net.ParseIP(os.Args[2]).To4())
	s := newStack(os.Args[1], own)
	var c net.Conn
	if os.Args[3] == "listen" {
		l, err := gonet.ListenTCP(s, tcpip.FullAddress{NIC: 1, Addr: own, Port: port(os.Args[4])}, ipv4.ProtocolNumber)
		must(err, "listen")
		fmt.Println("ready")
		c, err = l.Accept()
		must(err, "accept")
	} else {
		fmt.Println("ready")
		to := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFromSlice(net.ParseIP(os.Args[4]).To4()), Port: port(os.Args[5])}
		var err error
		c, err = gonet.DialTCP(s, to, ipv4.ProtocolNumber)
		must(err, "connect")
	}
	exchange(c)
	c.Close()
	time.Sleep(500 * time.Millisecond) // the last ACKs
	fmt.Println("right")
}
