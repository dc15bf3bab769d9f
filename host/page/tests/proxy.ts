// A wire between the page and its server, which can be cut, and can change what comes over it.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

/** What is not text, as a file that is compressed, stays as it is. */
function changing(change: (text: string) => string): Transform {
  return new Transform({
    transform(piece: Buffer, _, done) {
      done(null, Buffer.from(change(piece.toString("latin1")), "latin1"));
    },
  });
}

export class Proxy {
  private readonly sockets = new Set<Socket>();
  private isCut = false;
  private constructor(private readonly server: Server) {}

  /** @param change of what the server sends: to a text that is as long */
  static async start(target: string, change?: (text: string) => string): Promise<Proxy> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    const proxy = new Proxy(server);
    server.on("connection", (near) => {
      if (proxy.isCut) return void near.destroy();
      const far = connect(Number(port), hostname);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        proxy.sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => {
          proxy.sockets.delete(one);
          other.destroy();
        });
        if (change && one === far) one.pipe(changing(change)).pipe(other);
        else one.pipe(other);
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, "close");
  }
}
