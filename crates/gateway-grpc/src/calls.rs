//! The calls of the contract by their paths, for labels: what is not among them is `unknown`.

/// Every call, as `Service/Method` of `punctual.v1`.
pub(crate) const CALLS: [&str; 45] = [
    "Broker/Publish",
    "Broker/PublishStream",
    "Broker/Subscribe",
    "Broker/Receive",
    "Broker/Ack",
    "Broker/Nack",
    "Broker/Release",
    "Broker/Extend",
    "Messages/Get",
    "Messages/List",
    "Messages/Cancel",
    "Messages/Reschedule",
    "Messages/DeliverNow",
    "Messages/CancelRange",
    "Messages/Timeline",
    "Messages/Commit",
    "Messages/Rollback",
    "Messages/ListSubscriptionMessages",
    "Admin/ListNamespaces",
    "Admin/GetNamespace",
    "Admin/PutNamespace",
    "Admin/DeleteNamespace",
    "Admin/ListTopics",
    "Admin/GetTopic",
    "Admin/PutTopic",
    "Admin/DeleteTopic",
    "Admin/ListSubscriptions",
    "Admin/GetSubscription",
    "Admin/PutSubscription",
    "Admin/DeleteSubscription",
    "Admin/Pause",
    "Admin/Resume",
    "Admin/Seek",
    "Admin/Redrive",
    "Admin/GetClock",
    "Admin/AdvanceClock",
    "Admin/AcceptClock",
    "Admin/GetStatus",
    "Schedules/ListSchedules",
    "Schedules/GetSchedule",
    "Schedules/PutSchedule",
    "Schedules/DeleteSchedule",
    "Schedules/PauseSchedule",
    "Schedules/ResumeSchedule",
    "Schedules/TriggerSchedule",
];

/// The label of a path.
pub(crate) fn label(path: &str) -> &'static str {
    if is_health(path) {
        return "health";
    }
    if path.starts_with("/grpc.reflection.") {
        return "reflection";
    }
    let call = path.strip_prefix("/punctual.v1.").unwrap_or_default();
    CALLS.into_iter().find(|known| *known == call).unwrap_or("unknown")
}

/// Whether a path asks for the health, which needs no token: whoever restarts a broker that is not
/// well has none.
pub(crate) fn is_health(path: &str) -> bool {
    path.starts_with("/grpc.health.v1.Health/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_contract_has_a_label() {
        let files = [
            include_str!("../../../proto/punctual/v1/broker.proto"),
            include_str!("../../../proto/punctual/v1/messages.proto"),
            include_str!("../../../proto/punctual/v1/admin.proto"),
            include_str!("../../../proto/punctual/v1/schedules.proto"),
        ];
        let mut calls = Vec::new();
        for line in files.iter().flat_map(|file| file.lines()) {
            if let Some(name) = line.strip_prefix("service ") {
                calls.push((name.trim_end_matches(" {").to_owned(), Vec::new()));
            } else if let Some(rest) = line.strip_prefix("  rpc ") {
                let (method, _) = rest.split_once('(').expect("a method");
                calls.last_mut().expect("a service").1.push(method.to_owned());
            }
        }
        let named: Vec<String> =
            calls.iter().flat_map(|(service, methods)| methods.iter().map(move |m| format!("{service}/{m}"))).collect();
        assert_eq!(named, CALLS);
        for call in CALLS {
            assert_eq!(label(&format!("/punctual.v1.{call}")), call);
        }
        assert_eq!(label("/punctual.v1.Broker/Publish2"), "unknown");
        assert_eq!(label("/elsewhere.Broker/Publish"), "unknown");
        assert_eq!(label(""), "unknown");
    }
}
