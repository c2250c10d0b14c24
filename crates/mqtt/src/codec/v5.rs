//! MQTT 5: our packets from and to those of `mqtt-proto`.

use super::v3::{filter, id, pid, qos, qos_pid, raw_qos, topic};
use super::{check_length, check_text, malformed};
use crate::packet::{Connack, Connect, Message, Packet, Publish, QoS, Step, Subscription, Version, Violation, reason};
use mqtt_proto::PollHeader;
use mqtt_proto::v5::{
    Connack as RawConnack, Connect as RawConnect, ConnectReasonCode, Disconnect, DisconnectReasonCode, ErrorV5, Header,
    LastWill, Packet as Raw, Puback, PubackReasonCode, Pubcomp, PubcompReasonCode, Publish as RawPublish, Pubrec,
    PubrecReasonCode, Pubrel, PubrelReasonCode, RetainHandling, Suback, Subscribe, SubscribeReasonCode,
    SubscriptionOptions, Unsuback, Unsubscribe, UnsubscribeReasonCode,
};
use std::sync::Arc;

pub(super) fn decode(first: u8, body: &[u8]) -> Result<Packet, Violation> {
    let wrong = |e: ErrorV5| {
        let reason = match e {
            // Sections 3.1.2.11, 3.2.2.3 and others: a property twice.
            ErrorV5::DuplicatedProperty(_) => reason::PROTOCOL_ERROR,
            _ => reason::MALFORMED_PACKET,
        };
        Violation::new(reason, e.to_string())
    };
    let length = u32::try_from(body.len()).map_err(|_| malformed("too long"))?;
    let header = Header::new_with(first, length, length).map_err(wrong)?;
    let mut offset = 0;
    let raw = match header.build_empty_packet() {
        Some(empty) => empty,
        None => header.decode_buffer(body, &mut offset).map_err(wrong)?,
    };
    if offset != body.len() {
        return Err(malformed(format!("{} bytes too many in a packet", body.len() - offset)));
    }
    Ok(match raw {
        Raw::Connect(connect) => Packet::Connect(Box::new(read_connect(connect)?)),
        Raw::Connack(connack) => Packet::Connack(Connack {
            session_present: connack.session_present,
            code: connack.reason_code as u8,
            receive_maximum: receive_maximum(connack.properties.receive_max)?,
            topic_alias_maximum: connack.properties.topic_alias_max.unwrap_or(0),
            assigned_client_id: connack.properties.assigned_client_id,
        }),
        Raw::Publish(publish) => Packet::Publish(read_publish(publish)?),
        Raw::Puback(ack) => Packet::Ack(Step::Puback, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubrec(ack) => Packet::Ack(Step::Pubrec, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubrel(ack) => Packet::Ack(Step::Pubrel, id(ack.pid)?, ack.reason_code as u8),
        Raw::Pubcomp(ack) => Packet::Ack(Step::Pubcomp, id(ack.pid)?, ack.reason_code as u8),
        Raw::Subscribe(subscribe) => {
            let asked = subscribe.topics.iter().map(|(filter, options)| Subscription {
                filter: Arc::from(&**filter),
                qos: qos(options.max_qos),
                no_local: options.no_local,
                retain_as_published: options.retain_as_published,
                retain_handling: options.retain_handling as u8,
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
        Raw::Disconnect(disconnect) => Packet::Disconnect(disconnect.reason_code as u8),
        Raw::Auth(_) => return Err(Violation::protocol("AUTH without an authentication method")),
    })
}

/// Receive Maximum, which is not 0 (sections 3.1.2.11.3 and 3.2.2.3.3).
fn receive_maximum(given: Option<u16>) -> Result<u16, Violation> {
    match given {
        Some(0) => Err(Violation::protocol("Receive Maximum 0")),
        given => Ok(given.unwrap_or(u16::MAX)),
    }
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
    })
}

fn read_connect(raw: RawConnect) -> Result<Connect, Violation> {
    check_text(&raw.client_id)?;
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
    })
}

fn write_connect(connect: &Connect) -> Result<RawConnect, Violation> {
    check_length(&connect.client_id)?;
    let mut raw = RawConnect::new(connect.client_id.clone(), connect.keep_alive);
    raw.clean_start = connect.clean;
    raw.properties.session_expiry_interval = some(connect.session_expiry, 0);
    raw.properties.receive_max = some(connect.receive_maximum, u16::MAX);
    raw.properties.topic_alias_max = some(connect.topic_alias_maximum, 0);
    if let Some(will) = &connect.will {
        let mut last = LastWill::new(raw_qos(will.qos), topic(&will.topic)?, will.payload.clone());
        last.retain = will.retain;
        raw.last_will = Some(last);
    }
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
        Packet::Connack(connack) => {
            let code = known(ConnectReasonCode::from_u8(connack.code))?;
            let mut raw = RawConnack::new(connack.session_present, code);
            raw.properties.receive_max = some(connack.receive_maximum, u16::MAX);
            raw.properties.topic_alias_max = some(connack.topic_alias_maximum, 0);
            raw.properties.assigned_client_id = connack.assigned_client_id.clone();
            raw.into()
        }
        Packet::Publish(publish) => {
            let mut raw =
                RawPublish::new(qos_pid(publish)?, topic(&publish.message.topic)?, publish.message.payload.clone());
            (raw.dup, raw.retain) = (publish.dup, publish.message.retain);
            raw.properties.topic_alias = publish.alias;
            raw.into()
        }
        Packet::Ack(step, id, code) => {
            let (id, code) = (pid(*id)?, *code);
            match step {
                Step::Puback => Puback::new(id, known(PubackReasonCode::from_u8(code))?).into(),
                Step::Pubrec => Pubrec::new(id, known(PubrecReasonCode::from_u8(code))?).into(),
                Step::Pubrel => Pubrel::new(id, known(PubrelReasonCode::from_u8(code))?).into(),
                Step::Pubcomp => Pubcomp::new(id, known(PubcompReasonCode::from_u8(code))?).into(),
            }
        }
        Packet::Subscribe(id, asked) => {
            let topics = asked.iter().map(|s| Ok((filter(&s.filter)?, options(s)?))).collect::<Result<_, _>>()?;
            Subscribe::new(pid(*id)?, topics).into()
        }
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
    };
    out.extend_from_slice(raw.encode().map_err(|e| malformed(e.to_string()))?.as_ref());
    Ok(())
}

fn options(s: &Subscription) -> Result<SubscriptionOptions, Violation> {
    let mut options = SubscriptionOptions::new(raw_qos(s.qos.min(QoS::ExactlyOnce)));
    options.no_local = s.no_local;
    options.retain_as_published = s.retain_as_published;
    options.retain_handling = known(RetainHandling::from_u8(s.retain_handling))?;
    Ok(options)
}
