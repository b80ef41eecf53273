/** Causes that adapters of several servers report. */
export const CAUSES = {
  refused: 'the connection is refused: no server listens at this address',
  unknown_host: 'the host name cannot be resolved',
  unreachable: 'the host cannot be reached',
  closed: 'the connection was closed: the server is stopping, or only one of it and the address uses TLS',
  silent: 'the server does not answer',
  untrusted: "the server's certificate is not from a trusted CA",
  other_host: "the server's certificate is for another host name",
  expired: "the server's certificate has expired or is not valid yet",
  no_tls: 'the server does not use TLS, but the address asks for it',
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
