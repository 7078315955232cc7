// Replies in the shapes that devices were recorded with by public clients, in our own words.
import { describe, expect, test } from 'vitest'
import { readFacts } from '../../src/gateway/netconf/facts.ts'
import { decodeRpcReply } from '../../src/gateway/netconf/rpc.ts'
import { packageFailure } from '../../src/gateway/netconf/packages.ts'
import { startTask } from '../../src/gateway/netconf/tasks.ts'
import { parseXml } from '../../src/gateway/netconf/xml.ts'

function replyOf(body: string) {
  const root = parseXml(`<rpc-reply xmlns:junos="urn:j" message-id="1">${body}</rpc-reply>`)
  const decoded = decodeRpcReply(root)
  if (decoded === null) throw new Error('no reply')
  return decoded.reply
}

const system = `<system-information><hardware-model>ex4300-48p</hardware-model><os-version>21.4R3.15</os-version>
  <serial-number>A0</serial-number></system-information>`
const macs =
  '<chassis-mac-addresses><public-base-address>02:aa:bb:cc:dd:ee</public-base-address></chassis-mac-addresses>'
const uptime = `<system-uptime-information><time-source> NTP CLOCK </time-source>
  <system-booted-time><time-length junos:seconds="14234">03:57:14</time-length></system-booted-time>
  <last-configured-time><time-length junos:seconds="14136">03:55:36</time-length></last-configured-time>
  </system-uptime-information>`
const member = (id: number, role: string): string => `
  <member>
    <member-status>Prsnt</member-status>
    <member-id>${id}</member-id>
    <fpc-slot>(FPC ${id})</fpc-slot>
    <member-serial-number>A${id}</member-serial-number>
    <member-model>ex4300-48p</member-model>
    <member-mixed-mode>N</member-mixed-mode>
    <member-role>${role}</member-role>
    <neighbor-list><neighbor><neighbor-id>${1 - id}</neighbor-id></neighbor></neighbor-list>
  </member>`
const chassis = (...roles: readonly string[]): string => `
  <virtual-chassis-information>
    <preprovisioned-virtual-chassis-information><virtual-chassis-mode>Enabled</virtual-chassis-mode>
    </preprovisioned-virtual-chassis-information>
    <member-list junos:style="single-slot">${roles.map((role, id) => member(id, role)).join('')}</member-list>
  </virtual-chassis-information><cli><banner>{master:0}</banner></cli>`

function factsOf(virtualChassis: string) {
  const bodies: Readonly<Record<string, string>> = {
    'get-system-information': system,
    'get-chassis-mac-addresses': macs,
    'get-virtual-chassis-information': virtualChassis,
    'get-system-uptime-information': uptime,
  }
  const task = readFacts()
  let next = task.next()
  while (next.done !== true) next = task.next(replyOf(bodies[next.value.rpc.name] ?? '<rpc-error/>'))
  if (typeof next.value === 'string') throw new Error(next.value)
  return next.value
}

describe('a Virtual Chassis', () => {
  test.each([
    [['Backup', 'Master*'], [1]],
    // The gateway may talk to a member that is not the master.
    [['Backup*', 'Master'], [1]],
    [['Master*', 'Linecard'], [0]],
    // Both claim to be master while they find out about each other.
    [
      ['Master*', 'Master'],
      [0, 1],
    ],
  ])('with the roles %j has the masters %j', (roles, masters) => {
    const { members, uptimeS } = factsOf(chassis(...roles))
    expect(members.map(({ serial, model }) => [serial, model])).toEqual([
      ['A0', 'EX4300-48P'],
      ['A1', 'EX4300-48P'],
    ])
    expect(members.flatMap(({ member: id, isMaster }) => (isMaster ? [id] : []))).toEqual(masters)
    expect(uptimeS).toBe(14_234)
  })
})

test.each([
  ['\n<output>\n  Saving state for rollback ...\n</output>\n<package-result>\n  0\n</package-result>', null],
  // Without a result, as older devices answer.
  ['<output>\nJUNOS 11.1R3.5 will become active at next reboot\nWARNING: A reboot is required\n</output>', null],
  [
    '<output>\n  ERROR: package: /var/tmp/a.tgz is not found or empty\n</output>',
    'ERROR: package: /var/tmp/a.tgz is not found or empty',
  ],
  ['<output>There is already an install pending.</output><package-result>1</package-result>', 'the device reports 1'],
  [
    `<multi-routing-engine-results>
      <multi-routing-engine-item><re-name>fpc0</re-name><output>ok</output><package-result>0</package-result>
      </multi-routing-engine-item>
      <multi-routing-engine-item><re-name>member1</re-name><output>ERROR: cannot locate jroute: rollback aborted</output>
      <package-result>1</package-result></multi-routing-engine-item>
    </multi-routing-engine-results>`,
    'ERROR: cannot locate jroute: rollback aborted',
  ],
])('the result of a package %#', (body, failure) => {
  expect(packageFailure(replyOf(body))).toBe(failure)
})

test.each([
  [
    `<rpc><select-choice><prompt>Reboot the system ? [yes,no] (no) </prompt></select-choice></rpc>
     <request-reboot-results><request-reboot-status reboot-time="1">\nShutdown NOW!\n</request-reboot-status>
     </request-reboot-results>`,
    'Shutdown NOW!',
  ],
  [
    `<output>Initiating vmhost reboot...</output>
     <rpc-error><error-severity>warning</error-severity><error-message>Rebooting re0</error-message></rpc-error>
     <output>shutdown: [pid 13192]</output>`,
    null,
  ],
])('a reboot that is answered %#', (body, text) => {
  const facts = { ...factsOf(chassis('Master*')), members: [] }
  const task = startTask({ kind: 'restart' }, facts)
  task.next()
  expect(task.next(replyOf(body))).toMatchObject({ done: true, value: { kind: 'done', text } })
})
