//! An unmodified Python `grpcio` client, generated from `proto/punctual/v1`, does the main job
//! against the real broker over TCP.
//!
//! Needs `python3` with `venv` and the package index, once: the environment is kept in
//! `target/python-grpc`, by the versions in `tests/python/requirements.txt`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use punctual_broker_api::Access;
use punctual_embedded::{Broker, ClockChoice, Config};
use punctual_gateway_grpc::{GrpcGateway, GrpcMetrics};
use tokio::{net::TcpListener, sync::Semaphore};

/// Runs a program to its end; its output is the report when it fails.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("cannot run {command:?}: {error}; this test needs python3 (with venv and pip) on the PATH")
    });
    assert!(
        output.status.success(),
        "{command:?} failed with {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Where the build keeps its files: this test's binary lies in `target/PROFILE/deps`.
fn target() -> PathBuf {
    let binary = env::current_exe().expect("a path");
    binary.ancestors().nth(3).expect("target").to_path_buf()
}

/// A virtual environment with the pinned packages, made once for each set of versions.
fn python(requirements: &Path) -> PathBuf {
    let home = target().join("python-grpc");
    let stamp = home.join("installed.txt");
    let wanted = fs::read_to_string(requirements).expect("the versions");
    let python = home.join("bin/python");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return python;
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--only-binary=:all:", "-r"]).arg(requirements));
    fs::write(stamp, wanted).expect("the stamp");
    python
}

/// Generates the client, as any user would.
fn generate(python: &Path, proto: &Path) -> PathBuf {
    let generated = target().join("python-grpc/generated");
    let _ = fs::remove_dir_all(&generated);
    fs::create_dir_all(&generated).expect("a folder");
    let files = fs::read_dir(proto.join("punctual/v1")).expect("the contract");
    let files = files.map(|file| file.expect("a file").path());
    run(Command::new(python)
        .args(["-m", "grpc_tools.protoc", "--proto_path"])
        .arg(proto)
        .arg(format!("--python_out={}", generated.display()))
        .arg(format!("--grpc_python_out={}", generated.display()))
        .args(files));
    generated
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unmodified_python_client_does_the_main_job() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = python(&here.join("tests/python/requirements.txt"));
    let generated = generate(&python, &here.join("../../proto"));

    let config = Config { clock: ClockChoice::manual(), workers: Some(1), ..Config::default() };
    let broker = Broker::open(config).await.expect("a broker");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let gateway = GrpcGateway {
        broker: Arc::new(broker),
        access: Access::default(),
        connections: Arc::new(Semaphore::new(8)),
        metrics: GrpcMetrics::default(),
    };
    let serving = tokio::spawn(gateway.serve(listener, std::future::pending()));

    let script = here.join("tests/python/main_job.py");
    let job = tokio::task::spawn_blocking(move || {
        run(Command::new(python)
            .arg(script)
            .arg(address)
            .env("PYTHONPATH", generated)
            .env("PYTHONDONTWRITEBYTECODE", "1"));
    });
    job.await.expect("done");
    serving.abort();
}
