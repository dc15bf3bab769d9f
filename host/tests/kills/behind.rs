//! Restate, and the ways between it and the hosts.

#[cfg(feature = "restate")]
mod there {
    use crate::restate::{Restate, Switch, free_port};

    pub(crate) struct Behind {
        server: Restate,
        /// From Restate to the hosts, and the ports of those.
        switch: Switch,
        ports: Vec<u16>,
        /// From each host to where Restate takes turns, which has this port.
        ways: Vec<Switch>,
        ingress: u16,
    }

    impl Behind {
        pub(crate) async fn start(name: &str, places: usize, nodes: usize) -> Self {
            let server = Restate::start_nodes(name, nodes).await;
            let server = server.expect("its program");
            let ports: Vec<_> = (0..places).map(|_| free_port()).collect();
            let ingress = server.ingress.rsplit_once(':').expect("a port").1;
            let ingress = ingress.parse().expect("a port");
            let mut ways = Vec::new();
            for _ in 0..places {
                ways.push(Switch::to(&[ingress]).await);
            }
            Self {
                server,
                switch: Switch::to(&ports).await,
                ports,
                ways,
                ingress,
            }
        }

        /// The flags of the host at this place.
        pub(crate) fn flags(&self, place: usize) -> Vec<String> {
            let listen = format!("127.0.0.1:{}", self.ports[place]);
            let flags = [
                ["--engine", "restate"],
                ["--restate", &self.ways[place].url],
                ["--restate-admin", &self.server.admin],
                ["--restate-listen", &listen],
                ["--restate-url", &self.switch.url],
            ];
            flags.concat().into_iter().map(str::to_owned).collect()
        }

        /// Returns the number of its servers.
        pub(crate) fn nodes(&self) -> usize {
            self.server.nodes()
        }

        pub(crate) fn kill(&mut self, node: usize) {
            self.server.kill(node);
        }

        pub(crate) async fn start_again(&mut self, node: usize) {
            self.server.start_again(node).await;
        }

        pub(crate) fn cut_off(&self, place: usize) {
            self.switch.swallow(self.ports[place]);
            self.ways[place].swallow(self.ingress);
        }

        pub(crate) fn mend(&self) {
            self.switch.mend();
            self.ways.iter().for_each(Switch::mend);
        }
    }
}

/// Without the engine there is nothing to start.
#[cfg(not(feature = "restate"))]
mod there {
    pub(crate) enum Behind {}

    impl Behind {
        pub(crate) async fn start(_: &str, _: usize, _: usize) -> Self {
            unreachable!("the trial is ignored");
        }

        pub(crate) fn flags(&self, _: usize) -> Vec<String> {
            match *self {}
        }

        pub(crate) fn nodes(&self) -> usize {
            match *self {}
        }

        pub(crate) fn kill(&mut self, _: usize) {
            match *self {}
        }

        pub(crate) async fn start_again(&mut self, _: usize) {
            match *self {}
        }

        pub(crate) fn cut_off(&self, _: usize) {
            match *self {}
        }

        pub(crate) fn mend(&self) {
            match *self {}
        }
    }
}

pub(crate) use there::Behind;
