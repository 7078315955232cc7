import { expect, test } from 'vitest'
import { junosCommands } from '../../devices/call-home/junos-commands.ts'
import { parseJunosConfig } from './junos-config.ts'

const input = { host: 'gateway.example', port: 4334, orgId: 'org-1', secret: 'sesame', publicKey: 'ssh-ed25519 AAAA s' }

test.each([
  ['the commands that the interface returns', junosCommands(input)],
  ['the whole answer of the interface', JSON.stringify({ cmd: junosCommands(input) })],
])('a device follows %s', (_what, content) => {
  expect(parseJunosConfig(content)).toEqual({
    host: 'gateway.example',
    port: 4334,
    deviceId: 'org-1',
    secret: 'sesame',
    authorizedKey: 'ssh-ed25519 AAAA s',
  })
})

test.each(['secret', 'device-id', 'port', 'authentication'])('commands without %s are refused', (word) => {
  const lines = junosCommands(input)
    .split('\n')
    .filter((line) => !line.includes(` ${word} `))
  expect(() => parseJunosConfig(lines.join('\n'))).toThrow('The configuration of Junos devices lacks')
})
