import { isPublicAddress } from '../../../services/import/fetch-image';

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
];
const PUBLIC_6 = ['2606:2800:220:1:248:1893:25c8:1946', '2a00:1450:4001:81b::200e', '2003::1'];

const PRIVATE: Record<string, string[]> = {
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  'this network': ['0.0.0.0', '0.1.2.3', '::'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
  'link-local': ['169.254.1.1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'cloud metadata': ['169.254.169.254', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255'],
  'IPv4 in IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
  ],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
  'tunnels to IPv4': ['2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '192.88.99.1'],
  'site-local': ['fec0::1'],
  'not an IP address': ['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.2.3.4.5', '[::1]'],
};

test.each([...PUBLIC, ...PUBLIC_6])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each(Object.entries(PRIVATE))('%s is not public', (_kind, addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});
