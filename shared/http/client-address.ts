import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';
import { ConfigError } from '../kernel/config';

type Trust = (address: string, hop: number) => boolean;

/**
 * Whose request it is, as the name of a rate-limit bucket: the IPv4 address, or the /64 of an IPv6 address, which is
 * what one customer of a provider has. `X-Forwarded-For` counts only as far as `TRUST_PROXY` goes: a number of
 * hops, or addresses (`loopback`, `10.0.0.0/8`, …) separated by commas. Throws `ConfigError` where it is neither.
 */
export function clientAddress(trust_proxy: string): (req: IncomingMessage) => string {
  const trust = parseTrust(trust_proxy.trim());
  return (req) => {
    const address = proxyAddr(req, trust);
    return network(address) ?? network(req.socket.remoteAddress ?? '') ?? 'unknown';
  };
}

function parseTrust(setting: string): Trust {
  if (setting === '') return () => false;
  if (/^\d+$/.test(setting)) return (_address, hop) => hop < Number(setting);
  try {
    return proxyAddr.compile(setting.split(',').map((address) => address.trim()));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`configuration: TRUST_PROXY: a number of hops or addresses (${reason})`);
  }
}

/** Undefined for what is no address: a forwarded header may say anything. */
function network(address: string): string | undefined {
  const bare = address.replace(/%.*$/, '');
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return undefined;
  const groups = groupsOf(bare);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return [groups[6]! >> 8, groups[6]! & 0xff, groups[7]! >> 8, groups[7]! & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of an IPv6 address; the URL parser brings every spelling into one. */
function groupsOf(address: string): number[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = parse(head);
  const after = tail === undefined ? [] : parse(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}
