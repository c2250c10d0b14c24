// Command haltere-mochi is a broker of MQTT, mochi, over TCP, TLS and QUIC (quic-go), to be measured by haltere.
//
//	haltere-mochi broker CERT KEY WINDOW QUEUE ALIASES LISTENER...
//
// A LISTENER is tcp://ADDRESS:PORT, tls://ADDRESS:PORT or quic://ADDRESS:PORT. WINDOW is the number of messages of QoS 1 and
// 2 in flight to a client and from it, QUEUE that of messages that may wait for a client, ALIASES that of topic aliases. Over
// QUIC the first stream that a client opens carries MQTT; ALPN is "mqtt". It runs until SIGTERM.
// Build: go build -o /usr/local/bin/haltere-mochi .
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/quic-go/quic-go"
)

const usage = `usage: haltere-mochi broker CERT KEY WINDOW QUEUE ALIASES LISTENER...
       haltere-mochi version`

func main() {
	err := errors.New(usage)
	switch words := os.Args[1:]; {
	case len(words) >= 7 && words[0] == "broker":
		err = serve(words[1], words[2], words[3:6], words[6:])
	case len(words) == 1 && words[0] == "version":
		err = version()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "haltere-mochi:", err)
		os.Exit(1)
	}
}

func serve(cert, key string, limits, where []string) error {
	var numbers [3]int
	for i, word := range limits {
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 {
			return fmt.Errorf("%q is no number from 0 on", word)
		}
		numbers[i] = number
	}
	window, queue, aliases := numbers[0], numbers[1], numbers[2]
	if window > math.MaxUint16 || aliases > math.MaxUint16 {
		return fmt.Errorf("windows and aliases end at %d", math.MaxUint16)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"mqtt"}, MinVersion: tls.VersionTLS13}
	capabilities := mqtt.NewDefaultServerCapabilities()
	capabilities.MaximumInflight = uint16(window)
	capabilities.ReceiveMaximum = uint16(window)
	capabilities.MaximumClientWritesPending = int32(queue)
	capabilities.TopicAliasMaximum = uint16(aliases)
	server := mqtt.New(&mqtt.Options{
		Capabilities: capabilities,
		Logger:       slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelError})),
		// Statistics would wake it up.
		SysTopicResendInterval: math.MaxInt32,
	})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		return err
	}
	for _, one := range where {
		listener, err := listen(one, settings)
		if err != nil {
			return err
		}
		if err := server.AddListener(listeners.NewNet(one, listener)); err != nil {
			return err
		}
	}
	if err := server.Serve(); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	return server.Close()
}

func listen(where string, settings *tls.Config) (net.Listener, error) {
	carrier, address, _ := strings.Cut(where, "://")
	switch carrier {
	case "tcp":
		return net.Listen("tcp", address)
	case "tls":
		return tls.Listen("tcp", address, settings)
	case "quic":
		listener, err := quic.ListenAddr(address, settings, nil)
		if err != nil {
			return nil, err
		}
		found := &overQUIC{listener: listener, ready: make(chan net.Conn)}
		go found.accept()
		return found, nil
	}
	return nil, fmt.Errorf("%q: give tcp://, tls:// or quic:// and an address", where)
}

// overQUIC shows the first stream of each QUIC connection as a connection.
type overQUIC struct {
	listener *quic.Listener
	ready    chan net.Conn
}

func (l *overQUIC) accept() {
	defer close(l.ready)
	for {
		connection, err := l.listener.Accept(context.Background())
		if err != nil {
			return
		}
		go func() {
			stream, err := connection.AcceptStream(context.Background())
			if err == nil {
				l.ready <- streamed{stream, connection}
			}
		}()
	}
}

func (l *overQUIC) Accept() (net.Conn, error) {
	connection, open := <-l.ready
	if !open {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (l *overQUIC) Close() error   { return l.listener.Close() }
func (l *overQUIC) Addr() net.Addr { return l.listener.Addr() }

// streamed is a stream with the addresses of its connection.
type streamed struct {
	*quic.Stream
	connection *quic.Conn
}

func (s streamed) LocalAddr() net.Addr  { return s.connection.LocalAddr() }
func (s streamed) RemoteAddr() net.Addr { return s.connection.RemoteAddr() }

// Close ends the stream and the connection, which carries nothing else.
func (s streamed) Close() error {
	if err := s.Stream.Close(); err != nil {
		return err
	}
	return s.connection.CloseWithError(0, "")
}

func version() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without module information")
	}
	var found []string
	for _, module := range info.Deps {
		if module.Path == "github.com/mochi-mqtt/server/v2" || module.Path == "github.com/quic-go/quic-go" {
			found = append(found, module.Path[strings.LastIndex(module.Path, "github.com/")+len("github.com/"):]+" "+module.Version)
		}
	}
	fmt.Println(strings.Join(found, ", "), info.GoVersion)
	return nil
}
