import { expect, test } from 'vitest'
import { userDataOf } from './user-data.ts'

interface Config {
  readonly write_files: readonly { path: string; permissions: string; content: string }[]
  readonly runcmd: readonly (readonly string[])[]
}

function configOf(userData: string): Config {
  const [first, ...rest] = userData.split('\n')
  expect(first).toBe('#cloud-config')
  return JSON.parse(rest.join('\n')) as Config
}

const start = { url: 'https://signalbox.example.test', code: 'ABCD-EFGH', ca: null }
const fileOf = (userData: string, name: string) =>
  configOf(userData).write_files.find(({ path }) => path.endsWith(`/${name}`))

test('the code is in one file that only root can read', () => {
  const userData = userDataOf(start)
  expect(userData.split('ABCD-EFGH')).toHaveLength(2)
  expect(fileOf(userData, 'agent.env')).toMatchObject({
    permissions: '0600',
    content: 'SIGNALBOX_AGENT_CODE=ABCD-EFGH\n',
  })
})

test('contains the CA of the service, if it has one, as a file that the agent is started with', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n'
  const userData = userDataOf({ ...start, ca: pem })
  expect(fileOf(userData, 'ca.pem')?.content).toBe(pem)
  expect(fileOf(userData, 'signalbox-agent.service')?.content).toContain(' --ca /etc/signalbox-agent/ca.pem\n')
  expect(userDataOf(start)).not.toContain('ca.pem')
})

test('an address is not expanded by systemd', () => {
  const userData = userDataOf({ ...start, url: 'https://signalbox.example.test/a%20$b' })
  expect(fileOf(userData, 'signalbox-agent.service')?.content).toContain(
    '--url https://signalbox.example.test/a%%20$$b ',
  )
})

test('nothing is installed or downloaded', () => {
  const config = configOf(userDataOf(start))
  expect(Object.keys(config)).toEqual(['write_files', 'runcmd'])
  expect(config.runcmd.map(([program]) => program)).toEqual(['sh', 'systemctl', 'systemctl'])
})
