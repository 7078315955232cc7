import { describe, expect, test } from 'vitest'
import { type JunosFacts, readChanges, readFacts } from '../../src/gateway/netconf/facts.ts'
import { readHardware } from '../../src/gateway/netconf/hardware.ts'
import { decodeRpcReply } from '../../src/gateway/netconf/rpc.ts'
import type { Task } from '../../src/gateway/netconf/task.ts'
import { packageFailure, withPackageStatus } from '../../src/gateway/netconf/packages.ts'
import { type JunosCommand, imagePath, startTask } from '../../src/gateway/netconf/tasks.ts'
import { encodeXml, parseXml } from '../../src/gateway/netconf/xml.ts'
import { answerRpc, busyAnswer } from '../../src/simulator/junos/answer-rpc.ts'
import {
  type JunosDevice,
  type JunosDeviceOptions,
  type JunosFault,
  type JunosForm,
  bootChassis,
  createJunosDevice,
} from '../../src/simulator/junos/junos-device.ts'

const VERSION = '23.4R2-S2.1'
const sha256 = 'ab'.repeat(32)
const uri = 'https://example.test/firmware/a'
const file = { sha256, sizeBytes: 1000, signature: null }
const stage: JunosCommand = { kind: 'stage', version: VERSION, ...file, uri, localCertificates: false }
const activate: JunosCommand = { kind: 'activate', version: VERSION, sha256 }

function deviceOf(options: Partial<JunosDeviceOptions> = {}): JunosDevice {
  return createJunosDevice({ mac: '02aabbccddee', model: 'ex4100-48p', form: 'virtual_chassis', nowMs: 0, ...options })
}

/** Runs a task against the device; after `maxCalls` requests, whose last reply is lost, it is aborted. */
async function run<Result>(task: Task<Result>, device: JunosDevice, maxCalls = 100): Promise<Result | 'crashed'> {
  let next = task.next()
  for (let calls = 1; next.done !== true; calls += 1) {
    const { rpc, mayBreak = false } = next.value
    const download = () => Promise.resolve({ sha256, version: VERSION })
    const { body, boots } = await answerRpc(device, parseXml(encodeXml(rpc.name, rpc.content)), { nowMs: 0, download })
    bootChassis(device, boots, 0)
    if (calls >= maxCalls) return 'crashed'
    if (body === null && !mayBreak) throw new Error('a request broke the connection')
    const decoded = decodeRpcReply(parseXml(`<rpc-reply message-id="1" xmlns:junos="j">${body ?? ''}</rpc-reply>`))
    next = task.next(body === null || decoded === null ? { kind: 'broken' } : decoded.reply)
  }
  return next.value
}

async function factsOf(device: JunosDevice): Promise<JunosFacts> {
  const facts = await run(readFacts(), device)
  if (typeof facts === 'string') throw new Error(facts)
  return facts
}

const command = async (device: JunosDevice, order: JunosCommand, maxCalls?: number) =>
  run(startTask(order, await factsOf(device)), device, maxCalls)

/** Passes on the task, and notes the names of its requests. */
function* noting<Result>(task: Task<Result>, names: string[]): Task<Result> {
  let next = task.next()
  while (next.done !== true) {
    names.push(next.value.rpc.name)
    next = task.next(yield next.value)
  }
  return next.value
}

describe('an idle device', () => {
  const asked = async (form: JunosForm, task: (facts: JunosFacts) => Task<unknown>) => {
    const device = deviceOf({ form })
    const names: string[] = []
    await run(noting(task(await factsOf(device)), names), device)
    return names
  }
  const chassis = 'get-virtual-chassis-information'
  const uptime = 'get-system-uptime-information'
  const sets = 'get-software-sets-information'

  test.each([
    ['single', false, [uptime]],
    ['single', true, [chassis, uptime, sets]],
    ['virtual_chassis', false, [chassis, uptime, sets]],
    ['cluster', false, ['get-system-information', uptime]],
  ] as const)('that is a %s, in a look that is thorough (%s), is asked for %j', async (form, isThorough, names) => {
    expect(await asked(form, (facts) => readChanges(facts, isThorough))).toEqual(names)
  })

  test('is asked once for each part of its hardware', async () => {
    const names = await asked('single', readHardware)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toHaveLength(9)
  })
})

describe('an activation', () => {
  const prepared = (faults: readonly JunosFault[] = []): JunosDevice => {
    const device = deviceOf({ faults })
    device.files.set(imagePath(sha256), sha256)
    device.versions.set(sha256, VERSION)
    return device
  }

  // Sets, checksum, three packages, sets: the seventh request reboots.
  test.each([1, 2, 3, 4, 5, 6])(
    'that is lost after request %i is completed by the next one, and repeats nothing',
    async (at) => {
      const device = prepared()
      expect(await command(device, activate, at)).toBe('crashed')
      expect(await command(device, activate)).toMatchObject({ kind: 'done' })
      expect(device.journal.toSorted()).toEqual(['package-add 0', 'package-add 1', 'package-add 2', 'reboot'])
      expect(device.chassis.map(({ active }) => active)).toEqual([VERSION, VERSION, VERSION])
    },
  )

  test('of a device that lost the image is refused, so that it downloads again', async () => {
    expect(await command(deviceOf(), activate)).toMatchObject({ kind: 'rejected', code: 'no_image', final: false })
  })

  test('of a Virtual Chassis with an absent member is refused', async () => {
    const device = prepared()
    for (const chassis of device.chassis.slice(2)) chassis.isPresent = false
    expect(await command(device, activate)).toMatchObject({ code: 'member_absent', text: 'Member 2 is not present' })
    expect(device.journal).toEqual([])
  })

  test.each([
    [
      ['install_fails'],
      `Member 2: ERROR: not enough space (the device's package status: Installation of ${VERSION} failed: not enough space)`,
    ],
    [
      ['install_unexplained'],
      `Member 2: the device reports 1 (the device's package status: Installation of ${VERSION} failed: not enough space)`,
    ],
    [['install_unexplained', 'no_status'], 'Member 2: the device reports 1'],
    [['install_fails', 'no_status'], 'Member 2: ERROR: not enough space'],
  ] as const)('that fails with %j says why in the words of the device', async (faults, text) => {
    const device = prepared(faults)
    expect(await command(device, activate)).toMatchObject({
      kind: 'rejected',
      code: 'install_failed',
      text: `${text}; Member 1: installed`,
      final: false,
    })
    expect(device.journal).not.toContain('reboot')
  })

  test('has failed even if the connection breaks when the device is asked why', () => {
    const task = withPackageStatus('the device reports 1')
    expect(task.next().value).toMatchObject({ rpc: { name: 'request-package-latest-status' }, mayBreak: true })
    expect(task.next({ kind: 'broken' })).toEqual({ done: true, value: 'the device reports 1' })
  })

  test.each([
    ['<package-status><package-status-message>\n no space\n</package-status-message></package-status>', 'no space'],
    ['<output>no space</output>', 'no space'],
    [
      '<multi-routing-engine-results><multi-routing-engine-item><re-name>fpc1</re-name><output>no space</output></multi-routing-engine-item></multi-routing-engine-results>',
      'fpc1: no space',
    ],
    ['<package-status><package-status-message/></package-status>', null],
  ])('that fails, of a device that says %s, adds %j to the reason', (body, said) => {
    const task = withPackageStatus('failed')
    task.next()
    const decoded = decodeRpcReply(parseXml(`<rpc-reply message-id="1">${body}</rpc-reply>`))
    const value = said === null ? 'failed' : `failed (the device's package status: ${said})`
    expect(task.next(decoded?.reply ?? { kind: 'broken' })).toEqual({ done: true, value })
  })

  test('and a restore of the backup version need every member', async () => {
    const device = deviceOf({ form: 'virtual_chassis', model: 'ex4100-48p' })
    for (const chassis of device.chassis.slice(2)) chassis.isPresent = false
    expect(await command(device, { kind: 'restore_backup' })).toMatchObject({
      code: 'member_absent',
      text: 'Member 2 is not present',
    })
    expect(device.journal).toEqual([])
  })

  test('of a single device needs no member', async () => {
    const device = deviceOf({ form: 'single' })
    expect(await command(device, stage)).toMatchObject({ kind: 'done' })
    expect(await command(device, activate)).toMatchObject({ kind: 'done', text: 'The device: installed' })
    expect(device.journal).toEqual(['file-copy', 'package-add 0', 'reboot'])
  })
})

describe('an activation of a cluster', () => {
  const prepared = (options: Partial<JunosDeviceOptions> = {}): JunosDevice => {
    const device = deviceOf({ form: 'cluster', model: 'srx345', ...options })
    device.files.set(imagePath(sha256), sha256)
    device.versions.set(sha256, VERSION)
    return device
  }

  test('with a node that does not answer is refused, and so is the download', async () => {
    const device = prepared()
    for (const chassis of device.chassis.slice(1)) chassis.isPresent = false
    for (const order of [stage, activate])
      expect(await command(device, order)).toMatchObject({ code: 'node_absent', text: 'node1 does not answer' })
    expect(device.journal).toEqual([])
  })

  test.each([
    ['22.4R3.25', '24.4R1.9', true],
    ['23.4R2-S2.1', '25.2R1.1', true],
    ['24.4R1.9', '25.2R1.1', false],
    ['22.4R3.25', '24.2R2.1', false],
  ])('from %s to %s is refused for good: %s', async (version, wanted, isRefused) => {
    const device = prepared({ version })
    device.files.delete(imagePath(sha256))
    const result = await command(device, { ...activate, version: wanted })
    expect(result).toMatchObject(isRefused ? { code: 'not_in_band', final: true } : { code: 'no_image', final: false })
    expect(device.journal).toEqual([])
  })

  test('that the cluster refuses says why', async () => {
    const device = prepared({ faults: ['install_fails'] })
    expect(await command(device, activate)).toMatchObject({
      code: 'install_failed',
      text: expect.stringContaining('ISSU Aborted'),
    })
  })
})

describe('a download', () => {
  test.each(['single', 'virtual_chassis'] as const)(
    'to a device of the form %s is not limited to the releases that clusters install in band',
    async (form) => {
      const device = deviceOf({ form, version: '22.4R3.25' })
      expect(await command(device, { ...stage, version: '24.4R1.9' })).toMatchObject({ kind: 'done' })
      expect(device.journal).toEqual(['file-copy'])
    },
  )

  test.each([1, 2, 3])('that is lost after request %i is completed by the next one', async (at) => {
    const device = deviceOf()
    expect(await command(device, stage, at)).toBe('crashed')
    expect(await command(device, stage)).toMatchObject({ kind: 'done' })
    expect(device.journal).toEqual(['file-copy'])
  })

  test('of another file than the image fails', async () => {
    const device = deviceOf({ faults: ['bad_image'] })
    expect(await command(device, stage)).toMatchObject({ kind: 'rejected', code: 'download_failed', final: false })
  })
})

describe('a restore', () => {
  test('without a backup version is refused before anything happens', async () => {
    const device = deviceOf({ backup: null })
    expect(await command(device, { kind: 'restore_backup' })).toMatchObject({
      code: 'no_backup',
      text: 'no backup version',
      final: true,
    })
    expect(device.journal).toEqual([])
  })

  test('of another version than the one that was asked for is refused', async () => {
    const device = deviceOf()
    const order: JunosCommand = { kind: 'restore_backup', version: '20.4R1.12' }
    expect(await command(device, order)).toMatchObject({
      code: 'backup_changed',
      text: 'The backup version is no longer 20.4R1.12 but 21.4R3.15',
      final: true,
    })
    expect(device.journal).toEqual([])
  })

  test('of members with different backup versions is refused, because they would fall apart', async () => {
    const device = deviceOf()
    for (const chassis of device.chassis.slice(2)) chassis.backup = '20.4R1.12'
    const text = 'the members have different backup versions: 20.4R1.12, 21.4R3.15'
    expect((await factsOf(device)).backup).toEqual({ refusal: text })
    expect(await command(device, { kind: 'restore_backup' })).toMatchObject({ code: 'no_backup', text })
    expect(device.journal).toEqual([])
  })

  test('returns every member to its backup version', async () => {
    const device = deviceOf()
    expect(await command(device, { kind: 'restore_backup' })).toMatchObject({ text: 'Returns to 21.4R3.15' })
    expect(device.chassis.map(({ active }) => active)).toEqual(['21.4R3.15', '21.4R3.15', '21.4R3.15'])
  })
})

describe('a restart of one part', () => {
  test.each([
    ['virtual_chassis', { member: 2 }, 'reboot 2'],
    ['cluster', { node: 'node1' }, 'reboot 1'],
  ] as const)('of a %s: %j is not done yet, and knows how long the part had been up', async (form, part, entry) => {
    const device = deviceOf({ form })
    expect(await command(device, { kind: 'restart', ...part })).toEqual({ kind: 'returning', part, uptimeS: 86_400 })
    expect(device.journal).toEqual([entry])
  })

  test('that the device refuses did not begin', async () => {
    const device = deviceOf()
    const order: JunosCommand = { kind: 'restart', node: 'node1' }
    expect(await command(device, order)).toMatchObject({ kind: 'rejected', code: 'refused' })
    expect(device.journal).toEqual([])
  })
})

test('a restart of a cluster restarts both nodes', async () => {
  const device = deviceOf({ form: 'cluster', model: 'srx345' })
  expect(await command(device, { kind: 'restart' })).toMatchObject({ kind: 'done' })
  expect(device.journal).toEqual(['reboot 0', 'reboot 1'])
})

test.each([
  ['<package-result>0</package-result>', null],
  ['<output>fine</output>', null],
  ['<output>a\nERROR: no space\nb</output><package-result>1</package-result>', 'ERROR: no space'],
  ['<output>ERROR: bad signature</output>', 'ERROR: bad signature'],
  [busyAnswer, 'ERROR: another package installation is in progress'],
  ['<package-result>0</package-result><package-result>1</package-result>', 'the device reports 0, 1'],
])('the result of a package %s', (body, expected) => {
  expect(packageFailure({ kind: 'ok', root: parseXml(`<r>${body}</r>`) })).toBe(expected)
})
