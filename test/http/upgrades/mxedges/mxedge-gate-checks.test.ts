// Gates of upgrades of edge appliances that call a check.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { mxedgeUpgradeChecks } from '../../../../src/mxedges/upgrades/mxedge-checks.ts'
import { type OutboundHttp, createOutboundHttp } from '../../../../src/platform/outbound/outbound-http.ts'
import { createGateChecks } from '../../../../src/rollout/gates/gate-checks.worker.ts'
import { find, pathOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { type CheckServer, startCheckServer } from '../../../support/servers/check-server.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)
const canary = { strategy: 'canary', canary_phases: [1, 100] }
let checks: CheckServer
let outbound: OutboundHttp
beforeEach(async () => {
  checks = await startCheckServer()
  outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
})
afterEach(async () => {
  await outbound.close()
  await checks.close()
})

const read = (id: string): Promise<AnyJson> => find(given.world, id)
const gateOf = (more: object = {}) => ({ phase: 1, wait_for: 'check', url: checks.url, ...more })

/** Calls the checks that are due. @returns How many. */
async function ask(http = outbound): Promise<number> {
  const gateChecks = createGateChecks(given.world.ctx, http, mxedgeUpgradeChecks)
  const calls = await gateChecks.begin(new AbortController().signal)
  await Promise.all(calls)
  return calls.length
}

/** @returns The id of an upgrade whose first phase has ended. */
async function createHeld(gate: object = gateOf(), by = 'check'): Promise<string> {
  const { id } = await upgrade(given.world, given.tunterm({ ...canary, phase_gates: [gate] }))
  await given.play()
  expect(await read(id)).toMatchObject({ held: { by }, counts: { success: 1, queued: 2 } })
  return id
}

it('the answer of the check opens the next phase, and the record and the audit log say so', async () => {
  checks.reply = { status: 200, body: { open: true, reason: 'loss is 0 %' } }
  const id = await createHeld()
  expect((await read(id)).held.reason).toBe('phase 1 ended and waits for its check')
  expect(await ask()).toBe(1)
  const { orgId } = given.world.org
  expect(checks.asked).toEqual([{ org_id: orgId, upgrade_id: id, phase: 1, total: 1, upgraded: 1, failed: 0 }])
  await given.play()
  const ended = await read(id)
  expect(ended).toMatchObject({ status: 'completed', counts: { success: 3 } })
  expect(ended.approvals).toMatchObject([{ phase: 1, by: 'check', note: 'loss is 0 %' }])
  expect(ended.gates).toMatchObject([
    { phase: 1, gate: { wait_for: 'check', passed: true, opened_by: { by: 'check' } } },
  ])
  expect(await ask()).toBe(0)
  expect((await given.messagesOf(id)).slice(0, 2)).toEqual([
    `The check of phase 1 of upgrade ${id} of edge appliances passed`,
    `Hold upgrade ${id} of edge appliances: phase 1 ended and waits for its check`,
  ])
})

it('a check that says no leaves the upgrade to a person', async () => {
  checks.reply = { status: 200, body: { open: false, reason: 'loss is 4 %' } }
  const id = await createHeld()
  await ask()
  const reason = 'the check says: loss is 4 %'
  expect(await read(id)).toMatchObject({ held: { by: 'gate', reason } })
  expect((await given.messagesOf(id))[0]).toBe(`Hold upgrade ${id} of edge appliances: ${reason}`)
  clock.advance(3600e3)
  expect(await ask()).toBe(0)
  await given.play()
  expect((await read(id)).held.by).toBe('gate')
  await given.act(id, 'resume')
  await given.play()
  expect(await read(id)).toMatchObject({ status: 'completed', counts: { success: 3 } })
})

it('a check that fails is called again after growing pauses, and finally left to a person', async () => {
  checks.reply = { status: 503, body: {} }
  const id = await createHeld()
  for (const [index, pauseS] of [5, 30, 120, 600, 1800, 3600].entries()) {
    expect(await ask()).toBe(1)
    const failure = `gave the status 503 at attempt ${index + 1} of 7`
    expect((await read(id)).held).toMatchObject({
      by: 'check',
      reason: `phase 1 ended and waits for its check, which ${failure}`,
    })
    clock.advance(pauseS * 1000 - 1)
    expect(await ask()).toBe(0)
    clock.advance(1)
  }
  expect(await ask()).toBe(1)
  expect((await read(id)).held).toMatchObject({ by: 'gate', reason: 'the check gave the status 503, 7 times' })
})

it('a phase that has lost its appliances waits for its check, and the text says so after a failed call, too', async () => {
  checks.reply = { status: 503, body: {} }
  const startTime = Math.floor(clock.now().getTime() / 1000) + 60
  const body = given.tunterm({ ...canary, phase_gates: [gateOf()], start_time: startTime })
  const { id } = await upgrade(given.world, body)
  const { body: targets } = await given.world.call('GET', `${pathOf(given.world)}/${id}/targets`)
  const first = targets.find(({ phase }: AnyJson) => phase === 1)
  await given.act(id, 'exclude', { mxedge_ids: [first.mxedge_id] })
  clock.advance(60_000)
  await given.play()
  expect(await ask()).toBe(1)
  const failure = 'which gave the status 503 at attempt 1 of 7'
  expect((await read(id)).held.reason).toBe(`phase 1 has no edge appliances and waits for its check, ${failure}`)
  await given.act(id, 'cancel')
})

it('an answer that was lost with the process is asked for again once its lease has ended', async () => {
  const id = await createHeld()
  const dying: OutboundHttp = { ...outbound, send: () => Promise.reject(new Error('the process dies')) }
  expect(await ask(dying)).toBe(1)
  expect(await ask()).toBe(0)
  clock.advance(60_000)
  expect(await ask()).toBe(1)
  await given.play()
  expect((await read(id)).status).toBe('completed')
})

it('a pause during the call wins over its answer, and each pause begins to count anew', async () => {
  checks.reply = { status: 503, body: {} }
  const id = await createHeld()
  await ask()
  const pausing: OutboundHttp = {
    ...outbound,
    async send(request) {
      await given.act(id, 'pause')
      return outbound.send(request)
    },
  }
  clock.advance(5000)
  checks.reply = { status: 200, body: { open: true } }
  expect(await ask(pausing)).toBe(1)
  const before = 'phase 1 ended and waits for its check, which gave the status 503 at attempt 1 of 7'
  expect((await read(id)).held).toMatchObject({
    by: 'user',
    reason: `paused by ${given.world.org.email} (before: ${before})`,
  })
  clock.advance(3600e3)
  expect(await ask()).toBe(0)
  await given.act(id, 'resume')
  await given.play()
  expect((await read(id)).held).toMatchObject({ by: 'check', reason: 'phase 1 ended and waits for its check' })
  checks.reply = { status: 503, body: {} }
  await ask()
  expect((await read(id)).held.reason).toMatch(/attempt 1 of 7$/)
  await given.act(id, 'cancel')
})

it('a check is called at the instant of its gate', async () => {
  const notBefore = Math.floor(clock.now().getTime() / 1000) + 3600
  const id = await createHeld(gateOf({ not_before: notBefore }), 'time')
  expect(await ask()).toBe(0)
  clock.advance(3600e3)
  await given.play()
  expect((await read(id)).held).toMatchObject({ by: 'check' })
  expect(await ask()).toBe(1)
  await given.play()
  expect((await read(id)).approvals).toMatchObject([{ phase: 1, by: 'check' }])
})

it('a cancelled upgrade calls no check', async () => {
  const id = await createHeld()
  await given.act(id, 'cancel')
  expect(await ask()).toBe(0)
  await given.play()
  expect((await read(id)).status).toBe('cancelled')
  expect(checks.asked).toEqual([])
})

it('an address that may not be called is refused, in a new upgrade, a preview and a change', async () => {
  const body = (url: string) => given.tunterm({ ...canary, phase_gates: [gateOf({ url })] })
  const { id } = await upgrade(given.world, given.tunterm({ ...canary, start_time: 4_000_000_000 }))
  const put = (of: object) => given.world.call('PUT', `${pathOf(given.world)}/${id}`, { body: of })
  const metadata = 'http://169.254.169.254/check'
  for (const send of [(of: object) => given.post(of), (of: object) => given.post({ ...of, dry_run: true }), put])
    for (const url of [metadata, 'gopher://a'])
      expect(await send(body(url))).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('phase_gates.0.url') },
      })
  const { phase_gates: gates } = (await put(body('https://checks.example.com/a'))).body
  expect(gates).toEqual([{ phase: 1, wait_for: 'check', url: 'https://checks.example.com/a' }])
})
