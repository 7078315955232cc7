// Replies in the shapes that devices were recorded with by public clients, in our own words.
import { describe, expect, test } from 'vitest'
import { readFacts } from '../../src/gateway/netconf/facts.ts'
import { decodeChassis, decodeEnvironment, decodeInventory } from '../../src/gateway/netconf/decode-hardware.ts'
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

function factsOf(virtualChassis: string, others: Readonly<Record<string, string>> = {}) {
  const bodies: Readonly<Record<string, string>> = {
    'get-system-information': system,
    'get-chassis-mac-addresses': macs,
    'get-virtual-chassis-information': virtualChassis,
    'get-system-uptime-information': uptime,
    ...others,
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

describe('a cluster of which one node is down', () => {
  /** The reply of one node, as a device was recorded whose other routing engine was off. */
  const alone = (node: number, body: string): string => `
    <rpc-error><error-type>protocol</error-type><error-tag>operation-failed</error-tag><error-severity>error</error-severity>
    <error-message>\nCould not connect to node${1 - node} : No route to host\n</error-message></rpc-error>
    <multi-routing-engine-results><multi-routing-engine-item><re-name>node${node}</re-name>${body}
    </multi-routing-engine-item></multi-routing-engine-results>`
  const withAlone = (node: number) =>
    factsOf('<rpc-error/>', {
      'get-system-information': alone(node, system),
      'get-chassis-mac-addresses': alone(node, macs),
      'get-system-uptime-information': alone(node, uptime),
    })

  test('is known by what the other one answers', () => {
    const { mac, version, nodes, uptimeS, partUptimes } = withAlone(0)
    expect({ mac, version, uptimeS }).toEqual({ mac: '02aabbccddee', version: '21.4R3.15', uptimeS: 14_234 })
    expect(nodes).toMatchObject([
      { node: 'node0', isPresent: true },
      { node: 'node1', isPresent: false },
    ])
    expect([...partUptimes]).toEqual([[0, 14_234]])
  })

  test('is not taken for another device by the address of its second node', () => {
    expect(() => withAlone(1)).toThrow('it does not name its MAC')
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

describe('hardware', () => {
  test('the other end of a cable is known only where one cable connects two members', () => {
    const neighbors = (id: number, ...ports: readonly string[]): string =>
      `<member><member-status>Prsnt</member-status><member-id>${id}</member-id><neighbor-list>${ports
        .map(
          (port) =>
            `<neighbor><neighbor-id>${1 - id}</neighbor-id><neighbor-interface>${port}</neighbor-interface></neighbor>`,
        )
        .join('')}</neighbor-list></member>`
    const linksOf = (...ports: readonly string[]) =>
      decodeChassis(parseXml(`<r>${neighbors(0, ...ports)}${neighbors(1, ...ports)}</r>`)).members[0]?.vc_links
    expect(linksOf('vcp-0')).toEqual([{ port_id: 'vcp-0', neighbor_module_idx: 1, neighbor_port_id: 'vcp-0' }])
    expect(linksOf('vcp-0', 'vcp-1')).toEqual([
      { port_id: 'vcp-0', neighbor_module_idx: 1 },
      { port_id: 'vcp-1', neighbor_module_idx: 1 },
    ])
  })

  test.each([
    ['Prsnt', 'Master*', { vc_state: 'present', vc_role: 'master' }],
    ['NotPrsnt', 'Linecard', { vc_state: 'not-present', vc_role: 'linecard' }],
    ['constructor', 'Lord', {}],
  ])('a member that is %s and %s has no other state and role than known ones', (status, role, known) => {
    const text = `<r><member><member-status>${status}</member-status><member-id>0</member-id>
      <member-role>${role}</member-role></member></r>`
    expect(decodeChassis(parseXml(text)).members).toEqual([{ fpc_idx: 0, ...known }])
  })

  test('only the first item of a class names it, and the rest follow it', () => {
    const item = (name: string, content: string): string =>
      `<environment-item><name>${name}</name>${content}</environment-item>`
    const root = parseXml(`<r>${item('FPC 1 Power Supply 0', '<class>Power</class><status>OK</status>')}
      ${item('FPC 1 Power Supply 1', '<status>Absent</status>')}${item('Routing Engine', '<status>OK</status>')}</r>`)
    const psus = [
      { name: 'Power Supply 0', status: 'ok' },
      { name: 'Power Supply 1', status: 'absent' },
    ]
    expect(decodeEnvironment(root, new Map())).toEqual(new Map([[1, { psus, fans: [], temperatures: [] }]]))
  })

  test('the lists of a device that names thousands of parts are cut', () => {
    const part = '<environment-item><name>FPC 0 Fan</name><class>Fans</class><status>OK</status></environment-item>'
    const found = decodeEnvironment(parseXml(`<r>${part.repeat(3000)}</r>`), new Map())
    expect(found.get(0)?.fans).toHaveLength(16)
  })

  test('a device that names nothing has no values', () => {
    const empty = { unit: {}, pics: new Map(), airflows: new Map() }
    expect(decodeInventory(parseXml('<r><chassis-inventory><chassis/></chassis-inventory></r>'))).toEqual(empty)
  })
})
