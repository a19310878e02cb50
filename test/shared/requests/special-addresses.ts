/**
 * Hosts that lead into the machine, into a private network or to nobody, or that could be read so: none may be fetched
 * from, and no event sent there.
 */
const HOSTS = `
  127.0.0.1 127.1 127.0.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 0177.0x0.0.01 ①②⑦.0.0.1 １２７.０.０.１
  127。0。0。1 %31%32%37.0.0.1 127.0.0.1. 127.0.0.1:80 0 0.0.0.0 0x 10.0.0.1 10.1 100.64.0.1 168.63.129.16 0xa9fea9fe
  2852039166 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 192.168.257 198.18.0.1
  198.51.100.7 203.0.113.7 224.0.0.1 240.0.0.1 255.255.255.255 [::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe] [64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe]
  [64:ff9b:1::a00:1] [2002:7f00:1::] [2002:a00:1::1] [2001:0:7f00:1::] [2001:db8::1] [3fff::1] [fc00::1]
  [fd12:3456::1] [fe80::1] [fec0::1] [ff02::1] [100::1] [5f00::1] [4000::1] localhost LOCALHOST localhost.
  localhost%2e x.localhost ⓛocalhost printer com com. db.internal metadata.google.internal printer.local
  printer.local. nas.home.arpa 1.0.0.127.in-addr.arpa nas.lan localhost.localdomain a.corp x.onion`

/** Public here, but perhaps not for a parser that reads numbers otherwise. */
const PUBLIC_TO_SOME = '0127.0.0.1 134744072 0x08.8.8.8 8.8.8.8. 8.8.2056 example.com.. .example.com exa*mple.com'

const addressesOf = (hosts: string): string[] =>
  hosts
    .trim()
    .split(/\s+/)
    .map((host) => `http://${host}/`)

/** Their addresses, and more. */
export const SPECIAL_ADDRESSES: readonly string[] = [
  ...addressesOf(HOSTS),
  ...addressesOf(PUBLIC_TO_SOME),
  'HTTP://127.0.0.1',
  'http://100.100.100.200/latest/meta-data',
  'http://169.254.169.254/latest/meta-data/',
  'http://loc\u00adalhost/',
  `http://${'a.'.repeat(130)}com/`,
]
