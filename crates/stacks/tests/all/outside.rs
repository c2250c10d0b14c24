//! A stack that this crate does not know: registered beside the others, found by its name, and run.

use crate::ends;

use ends::{end, link};
use haltere_net::Span;
use haltere_net::registry::{Description, Registry};
use haltere_stacks::{Cipher, Config, Congestion, Error, Handles, Implementation, QUINN};
use haltere_transport::{Endpoint, Role};

/// quinn with the null cipher alone.
static PLAIN: Implementation = Implementation {
    refused: &[("bbr", "is not offered here")],
    ..Implementation::new(
        Description { name: "plain", summary: "quinn without TLS", reference: "this test" },
        "1",
        &["newreno"],
        build,
    )
};

fn build(config: Config, handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    (QUINN.build)(Config { stack: QUINN, cipher: Cipher::Null, ..config }, handles)
}

#[test]
fn a_stack_from_outside_is_registered_and_runs() {
    let registry = Registry::default().with(&PLAIN).unwrap();
    let plain = registry.named("plain").unwrap();
    assert!(registry.names().starts_with("quinn, noq, quiche, tquic"), "{}", registry.names());
    assert!(Registry::<Implementation>::default().with(&QUINN).is_err(), "a name stands for one stack");
    assert!(plain.ready().is_ok());

    let congestion = Congestion::Own(plain.congestion("newreno").unwrap());
    let said = plain.congestion("bbr").unwrap_err().to_string();
    assert!(said.contains("plain's own bbr is not offered here"), "{said}");
    let wire = link(10, Span::from_millis(5), 60_000);
    let run = |stack| {
        let [client, server] = [Role::Client, Role::Server].map(|role| end(role, stack, congestion, Cipher::Null, 1));
        let exchange = ends::common::Exchange { streams: vec![(100, 200_000)] };
        let mut pair = ends::common::Pair::new(client, server, &wire, &wire, 1, exchange);
        assert!(pair.run(Span::from_secs(60)));
        pair.assert_complete();
        pair.client_log.streams[0].3
    };
    assert_eq!(run(plain), run(QUINN), "it is quinn");
}
