import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** IANA's registry of special-purpose IPv4 addresses, and multicast: none of them is a host that anybody may reach. */
const SPECIAL_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/**
 * All that is given to hosts lies in here (RFC 4291 §2.4): loopback, link-local, unique local, multicast, IPv4 in IPv6
 * and NAT64 (`64:ff9b::/96`) lie outside.
 */
const GLOBAL_IPV6 = ['2000::', 3] as const;
/** Within: protocols and tunnels that lead to IPv4 addresses (Teredo, 6to4), and documentation. */
const SPECIAL_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

// One list each: a list of both families takes an IPv4 address for the IPv6 one that stands for it.
const special_ipv4 = listOf('ipv4', SPECIAL_IPV4);
const global_ipv6 = listOf('ipv6', [GLOBAL_IPV6]);
const special_ipv6 = listOf('ipv6', SPECIAL_IPV6);

/** Whether an address, as text, is one on the public internet. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special_ipv4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return global_ipv6.check(address, 'ipv6') && !special_ipv6.check(address, 'ipv6');
}

function listOf(family: 'ipv4' | 'ipv6', subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, family);
  return list;
}
