//! MQTT 3.1.1: our packets from and to those of `mqtt-proto`.

use super::{BRIDGE, BRIDGE_OF_V311, CONNECT, LEVEL, check_length, check_text, frame, malformed, raw};
use crate::packet::{
    Connack, Connect, Message, Packet, PacketId, Publish, QoS, Step, Subscription, Version, Violation,
};
use mqtt_proto::v3::{
    Connack as RawConnack, Connect as RawConnect, ConnectReturnCode, Header, LastWill, Packet as Raw,
    Publish as RawPublish, Suback, Subscribe, SubscribeReturnCode, Unsubscribe,
};
use mqtt_proto::{Pid, QosPid, TopicFilter, TopicName};
use std::sync::Arc;

pub(super) fn pid(id: PacketId) -> Result<Pid, Violation> {
    Pid::try_from(id.get()).map_err(|e| malformed(e.to_string()))
}

pub(super) fn id(pid: Pid) -> Result<PacketId, Violation> {
    PacketId::new(pid.value()).ok_or_else(|| malformed("packet identifier 0"))
}

pub(super) fn qos(raw: mqtt_proto::QoS) -> QoS {
    match raw {
        mqtt_proto::QoS::Level0 => QoS::AtMostOnce,
        mqtt_proto::QoS::Level1 => QoS::AtLeastOnce,
        mqtt_proto::QoS::Level2 => QoS::ExactlyOnce,
    }
}

pub(super) fn raw_qos(qos: QoS) -> mqtt_proto::QoS {
    match qos {
        QoS::AtMostOnce => mqtt_proto::QoS::Level0,
        QoS::AtLeastOnce => mqtt_proto::QoS::Level1,
        QoS::ExactlyOnce => mqtt_proto::QoS::Level2,
    }
}

pub(super) fn qos_pid(publish: &Publish) -> Result<QosPid, Violation> {
    match (publish.message.qos, publish.id) {
        (QoS::AtMostOnce, None) => Ok(QosPid::Level0),
        (QoS::AtLeastOnce, Some(id)) => Ok(QosPid::Level1(pid(id)?)),
        (QoS::ExactlyOnce, Some(id)) => Ok(QosPid::Level2(pid(id)?)),
        // [MQTT-2.2.1-2], [MQTT-2.2.1-3]
        _ => Err(malformed("PUBLISH of QoS 0 with a packet identifier, or another without one")),
    }
}

pub(super) fn topic(name: &str) -> Result<TopicName, Violation> {
    TopicName::try_from(name).map_err(|e| malformed(e.to_string()))
}

pub(super) fn filter(text: &Arc<str>) -> Result<TopicFilter, Violation> {
    TopicFilter::try_from(text.clone()).map_err(|e| malformed(e.to_string()))
}

pub(super) fn decode(first: u8, body: &[u8]) -> Result<Packet, Violation> {
    if first >> 4 == CONNECT && body.get(LEVEL) == Some(&BRIDGE_OF_V311) {
        // The crate knows the levels of the standard only.
        let mut plain = body.to_vec();
        plain[LEVEL] &= !BRIDGE;
        let mut packet = decode(first, &plain)?;
        if let Packet::Connect(connect) = &mut packet {
            connect.bridge = true;
        }
        return Ok(packet);
    }
    Ok(match raw::<Header>(first, body, |e| malformed(e.to_string()))? {
        Raw::Connect(connect) => Packet::Connect(Box::new(read_connect(connect)?)),
        Raw::Connack(connack) => {
            Packet::Connack(Connack { session_present: connack.session_present, ..Connack::new(connack.code as u8) })
        }
        Raw::Publish(publish) => {
            if publish.topic_name.is_empty() {
                // [MQTT-4.7.3-1]
                return Err(malformed("PUBLISH with an empty topic name"));
            }
            Packet::Publish(Publish {
                dup: publish.dup,
                id: publish.qos_pid.pid().map(id).transpose()?,
                message: Message {
                    topic: (&*publish.topic_name).into(),
                    payload: publish.payload,
                    qos: qos(publish.qos_pid.qos()),
                    retain: publish.retain,
                },
                alias: None,
                properties: None,
            })
        }
        Raw::Puback(pid) => Packet::Ack(Step::Puback, id(pid)?, 0),
        Raw::Pubrec(pid) => Packet::Ack(Step::Pubrec, id(pid)?, 0),
        Raw::Pubrel(pid) => Packet::Ack(Step::Pubrel, id(pid)?, 0),
        Raw::Pubcomp(pid) => Packet::Ack(Step::Pubcomp, id(pid)?, 0),
        Raw::Subscribe(subscribe) => {
            let asked = subscribe.topics.iter().map(|(filter, max)| Subscription::new(filter, qos(*max)));
            Packet::Subscribe(id(subscribe.pid)?, asked.collect())
        }
        Raw::Suback(suback) => {
            let codes = suback.topics.iter().map(|code| match code {
                SubscribeReturnCode::MaxLevel0 => 0,
                SubscribeReturnCode::MaxLevel1 => 1,
                SubscribeReturnCode::MaxLevel2 => 2,
                SubscribeReturnCode::Failure => 0x80,
            });
            Packet::Suback(id(suback.pid)?, codes.collect())
        }
        Raw::Unsubscribe(unsubscribe) => {
            let filters = unsubscribe.topics.iter().map(|filter| Arc::from(&**filter)).collect();
            Packet::Unsubscribe(id(unsubscribe.pid)?, filters)
        }
        Raw::Unsuback(pid) => Packet::Unsuback(id(pid)?, Vec::new()),
        Raw::Pingreq => Packet::Pingreq,
        Raw::Pingresp => Packet::Pingresp,
        Raw::Disconnect => Packet::Disconnect(0),
    })
}

fn read_connect(raw: RawConnect) -> Result<Connect, Violation> {
    check_text(&raw.client_id)?;
    let will = raw.last_will.map(|will| Message {
        topic: (&*will.topic_name).into(),
        payload: will.message,
        qos: qos(will.qos),
        retain: will.retain,
    });
    Ok(Connect {
        version: Version::V311,
        client_id: raw.client_id,
        clean: raw.clean_session,
        session_expiry: if raw.clean_session { 0 } else { u32::MAX },
        keep_alive: raw.keep_alive,
        receive_maximum: u16::MAX,
        topic_alias_maximum: 0,
        will,
        bridge: false,
        will_delay: 0,
        will_properties: None,
        maximum_packet: None,
        authentication: None,
    })
}

fn write_connect(connect: &Connect) -> Result<RawConnect, Violation> {
    check_length(&connect.client_id)?;
    let mut raw = RawConnect::new(connect.client_id.clone(), connect.keep_alive);
    raw.protocol = mqtt_proto::Protocol::V311;
    raw.clean_session = connect.clean;
    if let Some(will) = &connect.will {
        let mut last = LastWill::new(raw_qos(will.qos), topic(&will.topic)?, will.payload.clone());
        last.retain = will.retain;
        raw.last_will = Some(last);
    }
    Ok(raw)
}

pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) -> Result<(), Violation> {
    let raw: Raw = match packet {
        Packet::Connect(connect) => write_connect(connect)?.into(),
        Packet::Connack(connack) => {
            let code = ConnectReturnCode::from_u8(connack.code).map_err(|e| malformed(e.to_string()))?;
            RawConnack::new(connack.session_present, code).into()
        }
        Packet::Publish(publish) => {
            let mut raw =
                RawPublish::new(qos_pid(publish)?, topic(&publish.message.topic)?, publish.message.payload.clone());
            (raw.dup, raw.retain) = (publish.dup, publish.message.retain);
            raw.into()
        }
        Packet::Ack(Step::Puback, id, _) => Raw::Puback(pid(*id)?),
        Packet::Ack(Step::Pubrec, id, _) => Raw::Pubrec(pid(*id)?),
        Packet::Ack(Step::Pubrel, id, _) => Raw::Pubrel(pid(*id)?),
        Packet::Ack(Step::Pubcomp, id, _) => Raw::Pubcomp(pid(*id)?),
        Packet::Subscribe(id, asked) => {
            let topics = asked.iter().map(|s| Ok((filter(&s.filter)?, raw_qos(s.qos)))).collect::<Result<_, _>>()?;
            Subscribe::new(pid(*id)?, topics).into()
        }
        Packet::Suback(id, codes) => {
            let code = |c: &u8| QoS::of(*c).map_or(SubscribeReturnCode::Failure, |qos| raw_qos(qos).into());
            Suback::new(pid(*id)?, codes.iter().map(code).collect()).into()
        }
        Packet::Unsubscribe(id, filters) => {
            Unsubscribe::new(pid(*id)?, filters.iter().map(filter).collect::<Result<_, _>>()?).into()
        }
        Packet::Unsuback(id, _) => Raw::Unsuback(pid(*id)?),
        Packet::Pingreq => Raw::Pingreq,
        Packet::Pingresp => Raw::Pingresp,
        Packet::Disconnect(_) | Packet::DisconnectFor(..) => Raw::Disconnect,
        Packet::Auth(..) => return Err(malformed("MQTT 3.1.1 has no AUTH")),
    };
    let start = out.len();
    out.extend_from_slice(raw.encode().map_err(|e| malformed(e.to_string()))?.as_ref());
    if let Packet::Suback(_, codes) = packet {
        // The crate writes the number of a failure's variant, 3, in the place of its code.
        let first = out.len() - codes.len();
        for (byte, code) in out[first..].iter_mut().zip(codes) {
            *byte = QoS::of(*code).map_or(0x80, |qos| qos as u8);
        }
    }
    if let Packet::Connect(connect) = packet
        && connect.bridge
        && let Some((header, _)) = frame(&out[start..])?
    {
        out[start + header + LEVEL] |= BRIDGE;
    }
    Ok(())
}
