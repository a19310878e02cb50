/**
 * `node --require` of this file lets the process ask the name server of NAME_SERVER (`address:port`) for the names that
 * customers chose, instead of those of the machine (src/workers/fetching/dns-lookups.ts).
 */
const dns = require('node:dns/promises')
const { syncBuiltinESMExports } = require('node:module')

const { Resolver } = dns
dns.Resolver = class extends Resolver {
  constructor(options) {
    super(options)
    this.setServers([process.env.NAME_SERVER])
  }
}
syncBuiltinESMExports()
