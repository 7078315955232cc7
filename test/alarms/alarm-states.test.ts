import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { systemScope } from '../../src/access/scope.ts'
import {
  type NewAlarm,
  ackAlarms,
  closeCounts,
  endAlarms,
  raiseAlarms,
  unackAlarms,
  updateAlarmTexts,
} from '../../src/events/alarms/store.ts'
import { insertOrg } from '../../src/orgs/store.ts'
import { searchAlarms } from '../../src/orgs/alarms/store.ts'
import { type Tx, inTx } from '../../src/platform/database/db.ts'
import { addMs } from '../../src/platform/time/clock.ts'
import { uuidv7 } from '../../src/platform/uuidv7.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const DAY_MS = 24 * 3600e3
const orgId = uuidv7()
const scope = systemScope('operator', orgId)
/** One that ends with its cause, the same of another subject, and one that a person ends. */
const [down, other] = [alarmOf('device_down', 'a'), alarmOf('device_down', 'b')]
const cloned = alarmOf('device_certificate_cloned', 'a')

let clock: TestClock
let context: TestContext
beforeEach(async () => {
  clock = createTestClock()
  context = await createTestContext(clock)
  onTestFinished(() => context.close())
  await run((tx) => insertOrg(tx, scope, { name: 'Org', doc: {}, at: clock.now() }))
})

function alarmOf<T extends NewAlarm['type']>(type: T, subject: string) {
  return { orgId, siteId: null, type, subject, text: 'first', details: {} }
}

const run = <T>(change: (tx: Tx) => Promise<T>): Promise<T> => inTx(context.ctx, change)
const raise = (...alarms: readonly NewAlarm[]) => run((tx) => raiseAlarms(tx, alarms, clock.now()))
const end = () => run((tx) => endAlarms(tx, [down], clock.now()))
const ack = () => run((tx) => ackAlarms(tx, scope, { chosen: 'all', note: null, at: clock.now() }))
const list = () => context.ctx.db.selectFrom('alarm').selectAll().orderBy('createdAt').orderBy('subject').execute()

it('of a cause that lasts is raised once', async () => {
  await raise(down)
  await raise({ ...down, text: 'again' })
  expect(await list()).toMatchObject([{ count: 1, text: 'first' }])
})

it('gets another text only while it is open, and only that of its subject', async () => {
  await raise(down, other)
  await run((tx) => updateAlarmTexts(tx, [{ ...down, text: 'second' }]))
  expect((await list()).map(({ text }) => text)).toEqual(['second', 'first'])
  await end()
  await run((tx) => updateAlarmTexts(tx, [{ ...down, text: 'third' }]))
  expect((await list()).map(({ text }) => text)).toEqual(['second', 'first'])
})

it('ends once', async () => {
  await raise(down)
  const endedAt = clock.now()
  await end()
  clock.advance(1000)
  await end()
  expect(await list()).toMatchObject([{ endedAt, lastSeenAt: endedAt }])
})

it('is another one if its cause comes back after it was acknowledged and ended', async () => {
  await raise(down)
  await ack()
  await end()
  clock.advance(1000)
  await raise(down)
  expect(await list()).toMatchObject([
    { count: 1, counting: false },
    { count: 1, counting: true },
  ])
})

it('stays ended by its cause when its acknowledgment is withdrawn', async () => {
  await raise(down, cloned)
  const endedAt = clock.now()
  await end()
  await ack()
  await run((tx) => unackAlarms(tx, scope, 'all', clock.now()))
  const states = (await list()).map((alarm) => ({ type: alarm.type, endedAt: alarm.endedAt }))
  expect(states).toContainEqual({ type: 'device_down', endedAt })
  expect(states).toContainEqual({ type: 'device_certificate_cloned', endedAt: null })
})

it('is counted up until its cause has been away for too long, unless that lasts', async () => {
  const seenAt = clock.now()
  await raise(down, other, cloned)
  await end()
  const counting = async () =>
    (await list()).filter((alarm) => alarm.counting).map(({ type, subject }) => type + subject)
  await run((tx) => closeCounts(tx, seenAt))
  expect(await counting()).toHaveLength(3)
  await run((tx) => closeCounts(tx, addMs(seenAt, 1)))
  expect(await counting()).toEqual(['device_downb'])
})

it('is found in a range during which it was open, whenever its cause was seen', async () => {
  await raise(down, other)
  await end()
  const start = addMs(clock.now(), DAY_MS)
  const found = await searchAlarms(context.ctx.db, scope, {
    conditions: {},
    start,
    end: addMs(start, DAY_MS),
    sort: { by: 'timestamp', direction: 'asc' },
    page: { page: 1, limit: 10 },
  })
  expect(found.rows).toMatchObject([{ subject: 'b' }])
})

it('is acknowledged by one person when two acknowledge it at the same time', async () => {
  await raise(cloned)
  let second = Promise.resolve(0)
  const first = await run(async (tx) => {
    const count = await ackAlarms(tx, scope, { chosen: 'all', note: null, at: clock.now() })
    second = ack()
    await untilWaiting(context, 1)
    return count
  })
  expect([first, await second]).toEqual([1, 0])
})
