import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { withTimeout } from '../kernel/async';
import type { OutageReport } from '../kernel/outages';
import { socketHost } from '../kernel/server-url';

/** Causes that adapters of several servers report. */
export const CAUSES = {
  refused: 'the connection is refused: no server listens at this address',
  unknown_host: 'the host name cannot be resolved',
  unreachable: 'the host cannot be reached',
  closed: 'the connection was closed',
  silent: 'the server does not answer',
  untrusted: "the server's certificate is not from a trusted CA",
  other_host: "the server's certificate is for another host name",
  expired: "the server's certificate has expired or is not valid yet",
  no_tls: 'the server does not use TLS, but the address asks for it',
  silent_tls: 'the server does not answer the TLS handshake: it hangs, or does not use TLS',
  needs_tls: 'the server expects TLS, but the address does not ask for it',
  wrong_password: 'wrong user or password',
  no_user: 'the server requires a user, and the address has none',
} as const;

/** What Node and OpenSSL say in codes and messages. Client libraries pass the code on, or only a part of the message. */
const NETWORK_CAUSES: readonly (readonly [RegExp, string])[] = [
  [/ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate's altnames/, CAUSES.other_host],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|certificate (has expired|is not yet valid)/, CAUSES.expired],
  [
    /UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER|SELF_SIGNED_CERT|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|unable to (verify the first|get (local )?issuer) certificate|self.signed certificate/,
    CAUSES.untrusted,
  ],
  [/WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long/, CAUSES.no_tls],
  [/ECONNREFUSED/, CAUSES.refused],
  [/ENOTFOUND|EAI_AGAIN|ENODATA|Name resolution failed|querySrv/, CAUSES.unknown_host],
  [/EHOSTUNREACH|ENETUNREACH|ENETDOWN|EHOSTDOWN|EADDRNOTAVAIL/, CAUSES.unreachable],
  [/ETIMEDOUT|timed out|Socket timeout|does not answer/i, CAUSES.silent],
  [
    /ECONNRESET|EPIPE|ECONNABORTED|socket hang up|socket disconnected|Failed to connect| closed$|Connection is closed/,
    CAUSES.closed,
  ],
];

/** Returns in plain words why a connection failed, or undefined if the error does not say it. */
export function networkCause(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  // An `AggregateError` has the failure of each address that a host name stands for.
  const { code, message, cause, errors } = error as NodeJS.ErrnoException & { errors?: readonly unknown[] };
  const text = `${code ?? ''} ${message}`;
  const found = NETWORK_CAUSES.find(([pattern]) => pattern.test(text))?.[1];
  // The host may come from the server itself: a client of a cluster asks the hosts that the members name to each other.
  const host = found === CAUSES.other_host && /(?:Host|IP): (\S+?)\.? is not in/.exec(text)?.[1];
  if (host) return `${found}: it does not name ${host}`;
  return found ?? networkCause(errors?.[0] ?? cause);
}

/** Where a server is, as far as a probe needs it. */
export interface ProbedServer {
  readonly hosts: readonly { readonly address: string; readonly port: number }[];
  readonly tls: boolean;
  /** Certificates of trusted CAs in PEM; those of Node if undefined. */
  readonly ca?: Buffer | undefined;
}

const PROBE_MS = 1_000;
const PROBE_EVERY_MS = 5_000;

/**
 * Reports failures of a connection. If the library does not say why a connection was closed, connects once more to find
 * out, at most every 5 s: for example, a server that expects TLS closes a connection without TLS and gives no reason.
 */
export class ConnectionOutage {
  private readonly report: OutageReport;
  private readonly server: ProbedServer | undefined;
  private probed_at_ms = Number.NEGATIVE_INFINITY;
  private probed_cause: string | undefined;
  private successes = 0;

  /** `server` is undefined if the address does not name the hosts. */
  constructor(report: OutageReport, server: ProbedServer | undefined) {
    this.report = report;
    this.server = server;
  }

  /**
   * Reports a failure and returns its cause. If `cause` leaves open whether TLS is the reason, returns
   * the cause that the last probe has found, if it found one. Returns `otherwise` if there is no cause at all.
   */
  failed(
    cause: string | undefined,
    { scope, otherwise = CAUSES.closed }: { scope?: string; otherwise?: string } = {},
  ): string {
    const is_unclear =
      cause === undefined || cause === CAUSES.closed || (cause === CAUSES.silent && this.server?.tls);
    const best_cause = (is_unclear ? this.probed_cause : undefined) ?? cause ?? otherwise;
    this.report.failed(best_cause, scope);
    if (is_unclear) void this.probe();
    return best_cause;
  }

  succeeded(scope?: string): void {
    this.successes++;
    this.probed_cause = undefined;
    this.report.succeeded(scope);
  }

  private async probe(): Promise<void> {
    const now_ms = performance.now();
    if (!this.server || now_ms - this.probed_at_ms < PROBE_EVERY_MS) return;
    this.probed_at_ms = now_ms;
    const { successes } = this;
    const cause = await probe(this.server);
    if (this.successes > successes) return;
    this.probed_cause = cause;
    if (cause !== undefined) this.report.failed(cause);
  }
}

/** Connects to the hosts. Returns why the first of them cannot be used, or undefined if nothing is wrong with any. */
async function probe({ hosts, tls, ca }: ProbedServer): Promise<string | undefined> {
  for (const { address, port } of hosts) {
    const host = socketHost(address);
    const failure = await failureToConnect(connectTcp({ host, port }), 'connect');
    if (failure) return networkCause(failure);
    const options = { host, port, servername: isName(host) ? host : '', ...(ca && { ca }) };
    const tls_failure = await failureToConnect(
      connectTls({ ...options, rejectUnauthorized: tls }),
      'secureConnect',
    );
    if (tls && tls_failure) return handshakeCause(tls_failure);
    if (!tls && !tls_failure) return CAUSES.needs_tls;
  }
  return undefined;
}

function handshakeCause(failure: Error): string | undefined {
  const cause = networkCause(failure);
  if (cause === CAUSES.silent) return CAUSES.silent_tls;
  return cause === CAUSES.closed ? CAUSES.no_tls : cause;
}

const isName = (host: string): boolean => !/^[\d.]+$|:/.test(host);

async function failureToConnect(
  socket: Socket,
  event: 'connect' | 'secureConnect',
): Promise<Error | undefined> {
  const ended = new Promise<Error | undefined>((resolve) => {
    socket.once(event, () => resolve(undefined));
    socket.on('error', resolve);
    socket.once('close', () => resolve(new Error('Connection is closed')));
  });
  try {
    return await withTimeout(ended, PROBE_MS, () => new Error('timed out'));
  } finally {
    socket.destroy();
  }
}
