module haltere/mochi

go 1.26.0

require (
	github.com/mochi-mqtt/server/v2 v2.7.9
	github.com/quic-go/quic-go v0.63.0
)

require (
	github.com/gorilla/websocket v1.5.0 // indirect
	github.com/rs/xid v1.4.0 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
