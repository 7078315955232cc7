import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before the server: it makes the name server of the attack the one of the machine, as /etc/resolv.conf would.

const address = process.env['SIGNALBOX_TEST_NAME_SERVER'] ?? ''

class Resolver extends dns.Resolver {
  constructor(...options: ConstructorParameters<typeof dns.Resolver>) {
    super(...options)
    this.setServers([address])
  }
}

Object.assign(dns, { Resolver })
syncBuiltinESMExports()
