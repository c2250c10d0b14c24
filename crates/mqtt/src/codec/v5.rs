//! MQTT 5: our packets from and to those of `mqtt-proto`.

use super::v3::{filter, id, pid, qos, qos_pid, raw_qos, topic};
use super::{check_length, check_text, malformed, raw};
use crate::packet::{
    Authentication, Connack, Connect, Message, Packet, PacketId, Properties, Publish, QoS, Step, Subscription, Version,
    Violation, reason,
};
use bytes::Bytes;
use mqtt_proto::v5::{
    Auth, AuthReasonCode, Connack as RawConnack, Connect as RawConnect, ConnectReasonCode, Disconnect,
    DisconnectReasonCode, ErrorV5, Header, LastWill, Packet as Raw, Puback, PubackReasonCode, Pubcomp,
    PubcompReasonCode, Publish as RawPublish, Pubrec, PubrecReasonCode, Pubrel, PubrelReasonCode, RetainHandling,
    Suback, Subscribe, SubscribeReasonCode, SubscriptionOptions, Unsuback, Unsubscribe, UnsubscribeReasonCode,
    UserProperty, VarByteInt,
};
use std::sync::Arc;

fn wrong(error: ErrorV5) -> Violation {
    let reason = match error {
        // Sections 3.1.2.11, 3.2.2.3 and others: a property twice.
        ErrorV5::DuplicatedProperty(_) => reason::PROTOCOL_ERROR,
        _ => reason::MALFORMED_PACKET,
    };
    Violation::new(reason, error.to_string())
}

pub(super) fn decode(first: u8, body: &[u8]) -> Result<Packet, Violation> {
    Ok(match raw::<Header>(first, body, wrong)? {
        Raw::Connect(connect) => Packet::Connect(Box::new(read_connect(connect)?)),
        Raw::Connack(connack) => {
            let said = connack.properties;
            Packet::Connack(Connack {
                session_present: connack.session_present,
                code: connack.reason_code as u8,
                receive_maximum: receive_maximum(said.receive_max)?,
                topic_alias_maximum: said.topic_alias_max.unwrap_or(0),
                assigned_client_id: said.assigned_client_id,
                keep_alive: said.server_keep_alive,
                maximum_packet: maximum_packet(said.max_packet_size)?,
                maximum_qos: said.max_qos.map_or(QoS::ExactlyOnce, qos),
                retains: said.retain_available.unwrap_or(true),
                authentication: authentication(said.auth_method, said.auth_data)?,
            })
        }
        Raw::Publish(publish) => Packet::Publish(read_publish(publish)?),
        Raw::Puback(ack) => Packet::Ack(Step::Puback, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubrec(ack) => Packet::Ack(Step::Pubrec, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubrel(ack) => Packet::Ack(Step::Pubrel, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubcomp(ack) => Packet::Ack(Step::Pubcomp, id(ack.pid)?, ack.reason_code as u8),
        Raw::Subscribe(subscribe) => {
            let identifier = subscribe.properties.subscription_id.map(|id| id.value());
            if identifier == Some(0) {
                // Section 3.8.2.1.2.
                return Err(Violation::protocol("subscription identifier 0"));
            }
            let asked = subscribe.topics.iter().map(|(filter, options)| Subscription {
                filter: Arc::from(&**filter),
                qos: qos(options.max_qos),
                no_local: options.no_local,
                retain_as_published: options.retain_as_published,
                retain_handling: options.retain_handling as u8,
                identifier,
            });
            Packet::Subscribe(id(subscribe.pid)?, asked.collect())
        }
        Raw::Suback(suback) => Packet::Suback(id(suback.pid)?, suback.topics.iter().map(|code| *code as u8).collect()),
        Raw::Unsubscribe(unsubscribe) => {
            let filters = unsubscribe.topics.iter().map(|filter| Arc::from(&**filter)).collect();
            Packet::Unsubscribe(id(unsubscribe.pid)?, filters)
        }
        Raw::Unsuback(unsuback) => {
            Packet::Unsuback(id(unsuback.pid)?, unsuback.topics.iter().map(|code| *code as u8).collect())
        }
        Raw::Pingreq => Packet::Pingreq,
        Raw::Pingresp => Packet::Pingresp,
        Raw::Disconnect(disconnect) => match disconnect.properties.session_expiry_interval {
            Some(seconds) => Packet::DisconnectFor(disconnect.reason_code as u8, seconds),
            None => Packet::Disconnect(disconnect.reason_code as u8),
        },
        Raw::Auth(auth) => {
            let said = authentication(auth.properties.auth_method, auth.properties.auth_data)?;
            // Section 3.15.2.2.2.
            let said = said.ok_or_else(|| Violation::protocol("AUTH without an authentication method"))?;
            Packet::Auth(auth.reason_code as u8, Box::new(said))
        }
    })
}

/// Receive Maximum, which is not 0 (sections 3.1.2.11.3 and 3.2.2.3.3).
fn receive_maximum(given: Option<u16>) -> Result<u16, Violation> {
    match given {
        Some(0) => Err(Violation::protocol("Receive Maximum 0")),
        given => Ok(given.unwrap_or(u16::MAX)),
    }
}

/// Maximum Packet Size, which is not 0 (sections 3.1.2.11.4 and 3.2.2.3.6).
fn maximum_packet(given: Option<u32>) -> Result<Option<u32>, Violation> {
    match given {
        Some(0) => Err(Violation::protocol("Maximum Packet Size 0")),
        given => Ok(given),
    }
}

/// Data need a method (sections 3.1.2.11.10 and 3.2.2.3.18).
fn authentication(method: Option<Arc<str>>, data: Option<Bytes>) -> Result<Option<Authentication>, Violation> {
    match (method, data) {
        (Some(method), data) => Ok(Some(Authentication { method, data: data.unwrap_or_default() })),
        (None, Some(_)) => Err(Violation::protocol("authentication data without a method")),
        (None, None) => Ok(None),
    }
}

fn raw_authentication(said: &Authentication) -> Result<(Option<Arc<str>>, Option<Bytes>), Violation> {
    check_length(&said.method)?;
    Ok((Some(said.method.clone()), some(said.data.clone(), Bytes::new())))
}

fn user(raw: Vec<UserProperty>) -> Vec<(Arc<str>, Arc<str>)> {
    raw.into_iter().map(|pair| (pair.name, pair.value)).collect()
}

fn raw_user(user: &[(Arc<str>, Arc<str>)]) -> Result<Vec<UserProperty>, Violation> {
    let pair = |(name, value): &(Arc<str>, Arc<str>)| {
        check_length(name)?;
        check_length(value)?;
        Ok(UserProperty { name: name.clone(), value: value.clone() })
    };
    user.iter().map(pair).collect()
}

fn read_publish(raw: RawPublish) -> Result<Publish, Violation> {
    let alias = raw.properties.topic_alias;
    if raw.topic_name.is_empty() && alias.is_none() {
        return Err(Violation::protocol("PUBLISH with neither a topic name nor a topic alias"));
    }
    Ok(Publish {
        dup: raw.dup,
        id: raw.qos_pid.pid().map(id).transpose()?,
        message: Message {
            topic: (&*raw.topic_name).into(),
            payload: raw.payload,
            qos: qos(raw.qos_pid.qos()),
            retain: raw.retain,
        },
        alias,
        properties: Properties {
            text: raw.properties.payload_is_utf8,
            expiry: raw.properties.message_expiry_interval,
            content_type: raw.properties.content_type,
            response_topic: raw.properties.response_topic.map(|topic| (&*topic).into()),
            correlation: raw.properties.correlation_data,
            user: user(raw.properties.user_properties),
            subscription: raw.properties.subscription_id.map(|id| id.value()),
        }
        .some(),
    })
}

fn read_connect(raw: RawConnect) -> Result<Connect, Violation> {
    check_text(&raw.client_id)?;
    let will_properties = raw.last_will.as_ref().and_then(|will| {
        let said = will.properties.clone();
        Properties {
            text: said.payload_is_utf8,
            expiry: said.message_expiry_interval,
            content_type: said.content_type,
            response_topic: said.response_topic.map(|topic| (&*topic).into()),
            correlation: said.correlation_data,
            user: user(said.user_properties),
            subscription: None,
        }
        .some()
    });
    let will_delay = raw.last_will.as_ref().and_then(|will| will.properties.delay_interval).unwrap_or(0);
    let will = raw.last_will.map(|will| Message {
        topic: (&*will.topic_name).into(),
        payload: will.payload,
        qos: qos(will.qos),
        retain: will.retain,
    });
    Ok(Connect {
        version: Version::V5,
        client_id: raw.client_id,
        clean: raw.clean_start,
        session_expiry: raw.properties.session_expiry_interval.unwrap_or(0),
        keep_alive: raw.keep_alive,
        receive_maximum: receive_maximum(raw.properties.receive_max)?,
        topic_alias_maximum: raw.properties.topic_alias_max.unwrap_or(0),
        will,
        bridge: false,
        will_delay,
        will_properties,
        maximum_packet: maximum_packet(raw.properties.max_packet_size)?,
        authentication: authentication(raw.properties.auth_method, raw.properties.auth_data)?,
    })
}

fn write_connect(connect: &Connect) -> Result<RawConnect, Violation> {
    check_length(&connect.client_id)?;
    let mut raw = RawConnect::new(connect.client_id.clone(), connect.keep_alive);
    raw.clean_start = connect.clean;
    raw.properties.session_expiry_interval = some(connect.session_expiry, 0);
    raw.properties.receive_max = some(connect.receive_maximum, u16::MAX);
    raw.properties.topic_alias_max = some(connect.topic_alias_maximum, 0);
    raw.properties.max_packet_size = connect.maximum_packet;
    if let Some(said) = &connect.authentication {
        (raw.properties.auth_method, raw.properties.auth_data) = raw_authentication(said)?;
    }
    if let Some(will) = &connect.will {
        let mut last = LastWill::new(raw_qos(will.qos), topic(&will.topic)?, will.payload.clone());
        last.retain = will.retain;
        last.properties.delay_interval = some(connect.will_delay, 0);
        if let Some(said) = &connect.will_properties {
            last.properties.payload_is_utf8 = said.text;
            last.properties.message_expiry_interval = said.expiry;
            last.properties.content_type = said.content_type.clone();
            last.properties.response_topic = said.response_topic.as_deref().map(topic).transpose()?;
            last.properties.correlation_data = said.correlation.clone();
            last.properties.user_properties = raw_user(&said.user)?;
        }
        raw.last_will = Some(last);
    }
    Ok(raw)
}

fn write_connack(connack: &Connack) -> Result<RawConnack, Violation> {
    let mut raw = RawConnack::new(connack.session_present, known(ConnectReasonCode::from_u8(connack.code))?);
    raw.properties.receive_max = some(connack.receive_maximum, u16::MAX);
    raw.properties.topic_alias_max = some(connack.topic_alias_maximum, 0);
    raw.properties.assigned_client_id = connack.assigned_client_id.clone();
    raw.properties.server_keep_alive = connack.keep_alive;
    raw.properties.max_packet_size = connack.maximum_packet;
    // Maximum QoS is 0 or 1, or left out (section 3.2.2.3.4).
    raw.properties.max_qos = some(connack.maximum_qos, QoS::ExactlyOnce).map(raw_qos);
    raw.properties.retain_available = some(connack.retains, true);
    if let Some(said) = &connack.authentication {
        (raw.properties.auth_method, raw.properties.auth_data) = raw_authentication(said)?;
    }
    Ok(raw)
}

fn write_publish(publish: &Publish) -> Result<RawPublish, Violation> {
    let message = &publish.message;
    let mut raw = RawPublish::new(qos_pid(publish)?, topic(&message.topic)?, message.payload.clone());
    (raw.dup, raw.retain) = (publish.dup, message.retain);
    raw.properties.topic_alias = publish.alias;
    if let Some(said) = &publish.properties {
        raw.properties.payload_is_utf8 = said.text;
        raw.properties.message_expiry_interval = said.expiry;
        raw.properties.content_type = said.content_type.clone();
        raw.properties.response_topic = said.response_topic.as_deref().map(topic).transpose()?;
        raw.properties.correlation_data = said.correlation.clone();
        raw.properties.user_properties = raw_user(&said.user)?;
        raw.properties.subscription_id = said.subscription.map(variable).transpose()?;
    }
    Ok(raw)
}

fn write_subscribe(id: PacketId, asked: &[Subscription]) -> Result<Subscribe, Violation> {
    let topics = asked.iter().map(|s| Ok((filter(&s.filter)?, options(s)?))).collect::<Result<_, _>>()?;
    let mut raw = Subscribe::new(pid(id)?, topics);
    let identifier = asked.first().and_then(|s| s.identifier);
    if asked.iter().any(|s| s.identifier != identifier) {
        return Err(Violation::protocol("filters of one SUBSCRIBE with different subscription identifiers"));
    }
    raw.properties.subscription_id = identifier.map(variable).transpose()?;
    Ok(raw)
}

/// A property's value, left out if it is the default.
fn some<T: PartialEq>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}

fn known<T>(code: Option<T>) -> Result<T, Violation> {
    code.ok_or_else(|| malformed("a reason code that the packet does not have"))
}

pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) -> Result<(), Violation> {
    let raw: Raw = match packet {
        Packet::Connect(connect) => write_connect(connect)?.into(),
        Packet::Connack(connack) => write_connack(connack)?.into(),
        Packet::Publish(publish) => write_publish(publish)?.into(),
        Packet::Ack(step, id, code) => {
            let (id, code) = (pid(*id)?, *code);
            match step {
                Step::Puback => Puback::new(id, known(PubackReasonCode::from_u8(code))?).into(),
                Step::Pubrec => Pubrec::new(id, known(PubrecReasonCode::from_u8(code))?).into(),
                Step::Pubrel => Pubrel::new(id, known(PubrelReasonCode::from_u8(code))?).into(),
                Step::Pubcomp => Pubcomp::new(id, known(PubcompReasonCode::from_u8(code))?).into(),
            }
        }
        Packet::Subscribe(id, asked) => write_subscribe(*id, asked)?.into(),
        Packet::Suback(id, codes) => {
            let codes = codes.iter().map(|c| known(SubscribeReasonCode::from_u8(*c))).collect::<Result<_, _>>()?;
            Suback::new(pid(*id)?, codes).into()
        }
        Packet::Unsubscribe(id, filters) => {
            Unsubscribe::new(pid(*id)?, filters.iter().map(filter).collect::<Result<_, _>>()?).into()
        }
        Packet::Unsuback(id, codes) => {
            let codes = codes.iter().map(|c| known(UnsubscribeReasonCode::from_u8(*c))).collect::<Result<_, _>>()?;
            Unsuback::new(pid(*id)?, codes).into()
        }
        Packet::Pingreq => Raw::Pingreq,
        Packet::Pingresp => Raw::Pingresp,
        Packet::Disconnect(code) => Disconnect::new(known(DisconnectReasonCode::from_u8(*code))?).into(),
        Packet::DisconnectFor(code, seconds) => {
            let mut raw = Disconnect::new(known(DisconnectReasonCode::from_u8(*code))?);
            raw.properties.session_expiry_interval = Some(*seconds);
            raw.into()
        }
        Packet::Auth(code, said) => {
            let mut raw = Auth::new(known(AuthReasonCode::from_u8(*code))?);
            (raw.properties.auth_method, raw.properties.auth_data) = raw_authentication(said)?;
            raw.into()
        }
    };
    out.extend_from_slice(raw.encode().map_err(|e| malformed(e.to_string()))?.as_ref());
    Ok(())
}

fn variable(number: u32) -> Result<VarByteInt, Violation> {
    VarByteInt::try_from(number).map_err(|e| malformed(e.to_string()))
}

fn options(s: &Subscription) -> Result<SubscriptionOptions, Violation> {
    let mut options = SubscriptionOptions::new(raw_qos(s.qos.min(QoS::ExactlyOnce)));
    options.no_local = s.no_local;
    options.retain_as_published = s.retain_as_published;
    options.retain_handling = known(RetainHandling::from_u8(s.retain_handling))?;
    Ok(options)
}
