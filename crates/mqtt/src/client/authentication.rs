//! Enhanced authentication (section 4.12): the client's steps. What the data are is the method's, which the application knows.

use super::{Client, Event, State};
use crate::packet::{Authentication, Packet, Violation, reason};
use haltere_net::Time;

impl Client {
    /// The next step of authentication, after [`Event::Challenge`] `[MQTT-4.12.0-3]`.
    ///
    /// # Errors
    /// If the client has no method, or no connection.
    pub fn answer(&mut self, data: bytes::Bytes, now: Time) -> Result<(), Violation> {
        self.authenticate(reason::CONTINUE_AUTHENTICATION, data, now)
    }

    /// Authenticates again on the present connection, with the same method `[MQTT-4.12.1-1]`.
    ///
    /// # Errors
    /// If the client has no method, or is not online.
    pub fn authenticate_again(&mut self, data: bytes::Bytes, now: Time) -> Result<(), Violation> {
        if self.state != State::Online {
            return Err(Violation::protocol("there is no connection"));
        }
        self.authenticate(reason::RE_AUTHENTICATE, data, now)
    }

    fn authenticate(&mut self, code: u8, data: bytes::Bytes, now: Time) -> Result<(), Violation> {
        // [MQTT-4.12.0-7]
        let method = self.config.authentication.as_ref().map(|own| own.method.clone());
        let method = method.filter(|_| self.state != State::Offline);
        let method = method.ok_or_else(|| Violation::protocol("there is nothing to authenticate for"))?;
        self.send_control(&Packet::Auth(code, Box::new(Authentication { method, data })), now)
    }

    /// Whether the broker's step of authentication belongs to the own method `[MQTT-4.12.0-5]`, `[MQTT-4.12.0-6]`.
    pub(super) fn check_method(&self, said: Option<&Authentication>) -> Result<(), Violation> {
        let own = self.config.authentication.as_ref();
        match own.map(|own| &own.method) == said.map(|said| &said.method) {
            true => Ok(()),
            false => Err(Violation::protocol("another authentication method than that of CONNECT")),
        }
    }

    /// The broker's step.
    pub(super) fn on_auth(&mut self, code: u8, said: Authentication) -> Result<(), Violation> {
        self.check_method(Some(&said))?;
        match (self.state, code) {
            (_, reason::CONTINUE_AUTHENTICATION) => {
                self.events.push_back(Event::Challenge(said.data));
                Ok(())
            }
            // It accepts a second authentication with the code 0 (section 4.12.1).
            (State::Online, reason::SUCCESS) => Ok(()),
            _ => Err(Violation::protocol("AUTH with a reason code that a broker does not send")),
        }
    }
}
