// Command haltere-quicgo is a server and a client of HTTP/3 on quic-go, to be measured by haltere.
//
//	haltere-quicgo server ADDRESS:PORT CERT KEY FOLDER
//	haltere-quicgo client OWN-ADDRESS ADDRESS:PORT NAME CA PATH
//
// The server shows a folder until SIGTERM; the client prints one line of JSON. Build: go build -o /usr/local/bin/haltere-quicgo .
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// window is the largest receive window of a stream and of a connection: no limit on paths of 1 Gbit/s and 250 ms.
const window = 32 << 20

const usage = `usage: haltere-quicgo server ADDRESS:PORT CERT KEY FOLDER
       haltere-quicgo client OWN-ADDRESS ADDRESS:PORT NAME CA PATH
       haltere-quicgo version`

// report is what the client saw; seconds count from just before it connected.
type report struct {
	HandshakeS  float64 `json:"handshake_s"`
	FirstByteS  float64 `json:"first_byte_s"`
	CompletionS float64 `json:"completion_s"`
	Bytes       int64   `json:"bytes"`
	Status      int     `json:"status"`
}

func main() {
	err := errors.New(usage)
	switch words := os.Args[1:]; {
	case len(words) == 5 && words[0] == "server":
		err = serve(words[1], words[2], words[3], words[4])
	case len(words) == 6 && words[0] == "client":
		err = fetch(words[1], words[2], words[3], words[4], words[5])
	case len(words) == 1 && words[0] == "version":
		err = version()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "haltere-quicgo:", err)
		os.Exit(1)
	}
}

func config() *quic.Config {
	return &quic.Config{MaxStreamReceiveWindow: window, MaxConnectionReceiveWindow: window}
}

func serve(address, cert, key, folder string) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	server := http3.Server{
		Addr:       address,
		TLSConfig:  http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		QUICConfig: config(),
		Handler:    show(folder),
	}
	return server.ListenAndServe()
}

// show answers with the files of a folder. Unlike http.FileServer it redirects no name, not even index.html.
func show(folder string) http.HandlerFunc {
	return func(to http.ResponseWriter, request *http.Request) {
		file, err := http.Dir(folder).Open(request.URL.Path)
		if err != nil {
			http.NotFound(to, request)
			return
		}
		defer file.Close()
		about, err := file.Stat()
		if err != nil || about.IsDir() {
			http.NotFound(to, request)
			return
		}
		http.ServeContent(to, request, about.Name(), about.ModTime(), file)
	}
}

func fetch(own, address, name, ca, path string) error {
	trusted, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		return fmt.Errorf("%s holds no certificate", ca)
	}
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(own)})
	if err != nil {
		return err
	}
	defer socket.Close()
	ctx := context.Background()
	start := time.Now()
	transport := quic.Transport{Conn: socket}
	defer transport.Close()
	settings := &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{http3.NextProtoH3}}
	connection, err := transport.Dial(ctx, remote, settings, config())
	if err != nil {
		return err
	}
	seen := report{HandshakeS: time.Since(start).Seconds()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+name+"/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := (&http3.Transport{DisableCompression: true}).NewClientConn(connection).RoundTrip(request)
	if err != nil {
		return err
	}
	seen.FirstByteS, seen.Status = time.Since(start).Seconds(), answer.StatusCode
	seen.Bytes, err = io.Copy(io.Discard, answer.Body)
	if err != nil {
		return err
	}
	seen.CompletionS = time.Since(start).Seconds()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with %s", address, answer.Status)
	}
	if err := connection.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), ""); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func version() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without module information")
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/quic-go/quic-go" {
			fmt.Println("quic-go", module.Version, info.GoVersion)
		}
	}
	return nil
}
