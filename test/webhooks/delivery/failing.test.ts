import { tmpdir } from 'node:os'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { type Mailer, createMailer } from '../../../src/platform/outbound/mail.ts'
import { updateWebhook } from '../../../src/webhooks/update-webhook.ts'
import { listUnmailedNotices, markMailed, upsertNotice } from '../../../src/webhooks/health/store-notices.ts'
import { watchFailing } from '../../../src/webhooks/health/watch-failing.ts'
import { permitRows, refuseRow } from '../../support/database/refuse-row.ts'
import { type Smtp, startSmtp } from '../../support/peers/smtp.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { addAdmin } from '../add-admin.ts'
import { startEngine } from '../engine.ts'
import type { Harness } from '../harness.ts'
import { type Receiver, holdAnswers, status } from '../receiver.ts'

const HOUR_MS = 3600e3
let clock: TestClock
let harness: Harness
let smtp: Smtp
let mailer: Mailer
let receiver: Receiver
beforeAll(async () => {
  smtp = await startSmtp()
})
afterAll(() => smtp.close())
beforeEach(async () => {
  ;({ clock, harness, receiver } = await startEngine(createTestClock()))
  const { log } = harness.ctx
  mailer = createMailer({ smtpUrl: smtp.url, from: 'Signalbox <s@example.test>', dataDir: tmpdir(), log })
  receiver.answer(status(500))
  smtp.mails.length = 0
})
afterEach(() => mailer.close())

const lane = (id: string) =>
  harness.ctx.db.selectFrom('webhookLane').selectAll().where('webhookId', '=', id).executeTakeFirstOrThrow()
const webhook = (id: string) =>
  harness.ctx.db.selectFrom('webhook').select('enabled').where('id', '=', id).executeTakeFirstOrThrow()

/** Makes an event fail once for each of this many webhooks. */
async function addFailing(name: string, count = 1): Promise<string[]> {
  const body = { url: receiver.url, topics: ['audits'], name }
  const webhooks = await Promise.all(Array.from({ length: count }, () => harness.addWebhook(body)))
  await harness.audit('nobody takes it')
  for (const { id } of webhooks) await waitUntil('a failure', async () => (await lane(id)).failingSince !== null)
  return webhooks.map(({ id }) => id)
}

/** Runs the chore so many hours after the first failure. */
async function watchAfter(id: string, hours: number): Promise<void> {
  const failingSince = (await lane(id)).failingSince as Date
  clock.advance(failingSince.getTime() + hours * HOUR_MS - clock.now().getTime())
  await watchFailing(harness.ctx, mailer)
}

const shown = () =>
  smtp.mails.map(({ to, subject }) => [to?.[0]?.address, subject]).toSorted((a, b) => (String(a) < String(b) ? -1 : 1))

it('records a failure while the next request of its lane hangs', async () => {
  const body = { url: receiver.url, topics: ['device-events'], single_event_per_message: true }
  const { id } = await harness.addWebhook(body)
  const held = holdAnswers(receiver)
  await harness.deviceEvents(['first', 'second'])
  clock.advance(1000)
  await harness.start()
  await receiver.waitFor(1)
  held[0]?.writeHead(500).end()
  await receiver.waitFor(2)
  const { epoch } = await lane(id)
  await waitUntil('the failure is recorded', async () => (await lane(id)).failures === 1)
  expect(await lane(id)).toMatchObject({ epoch, failingSince: clock.now() })
})

it('mails the admins after an hour, a day and three days of failing, and then disables the webhook', async () => {
  await addAdmin(harness, 'ada@example.test')
  await addAdmin(harness, 'grace@example.test')
  await addAdmin(harness, 'reader@example.test', 'read')
  const workers = await harness.start()
  const [id = ''] = await addFailing('Alerts <https://evil.test>')
  await workers.stop()
  await watchAfter(id, 0.99)
  expect(shown()).toEqual([])
  await watchAfter(id, 1)
  const both = (subject: string) => ['ada', 'grace'].map((name) => [`${name}@example.test`, subject])
  expect(shown()).toEqual(both('A webhook fails'))
  const since = clock.now().toISOString().slice(0, 11).replace('T', ' ')
  expect(smtp.mails[0]?.text).toContain(
    `webhook ${id} (Alerts _https___evil_test_) of the organization "Org" has taken no message since ${since}`,
  )
  const page = `/orgs/${harness.scope.orgId}/webhooks/${id}`
  expect(smtp.mails[0]?.text).toContain(`Open the webhook:\nhttp://127.0.0.1${page}\n`)
  await watchAfter(id, 23)
  expect(smtp.mails).toHaveLength(2)
  await watchAfter(id, 24)
  expect(smtp.mails[2]?.text).toContain(`has taken no message since ${since}`)
  // It has failed only once.
  await watchAfter(id, 72)
  expect(await webhook(id)).toEqual({ enabled: true })
  await harness.ctx.db.updateTable('webhookLane').set({ failures: 20 }).execute()
  await watchAfter(id, 72.1)
  expect(await webhook(id)).toEqual({ enabled: false })
  expect(smtp.mails).toHaveLength(6)
  const disabled = await harness.ctx.db.selectFrom('webhook').select(['disabledAt', 'disabledWhy']).execute()
  expect(disabled).toEqual([{ disabledAt: clock.now(), disabledWhy: 'failing' }])
  expect(smtp.mails[5]).toMatchObject({ subject: 'A webhook has been disabled' })
  expect(smtp.mails[5]?.text).toContain('Messages that were given up after their last attempt are kept for a week, too')
  const name = 'Alerts <https://evil.test>'
  const events = await harness.ctx.db.selectFrom('systemEvent').select(['type', 'text', 'details']).execute()
  const text = `Webhook "${name}" has been disabled, because its receiver has failed for 72 hours`
  expect(events).toEqual([{ type: 'WEBHOOK_DISABLED', text, details: { webhook_id: id } }])
  const audits = await harness.ctx.db.selectFrom('auditLog').select('message').execute()
  expect(audits.map(({ message }) => message)).toContain(
    `Disable Webhook "${name}": its receiver has failed for 72 hours`,
  )
  await watchAfter(id, 80)
  expect(smtp.mails).toHaveLength(6)
  // Once enabled again, it sends its waiting messages, and its count restarts.
  receiver.answer(status(200))
  await harness.start()
  await updateWebhook(harness.ctx, harness.scope, { id, body: { enabled: true }, outbound: harness.outbound })
  await waitUntil('nothing waits', async () => (await lane(id)).pending === 0)
  const enabled = await harness.ctx.db.selectFrom('webhook').select(['disabledAt', 'disabledWhy']).execute()
  expect(enabled).toEqual([{ disabledAt: null, disabledWhy: null }])
  expect(await lane(id)).toMatchObject({ failures: 0, failingSince: null })
  receiver.answer(status(500))
  await harness.audit('again')
  await waitUntil('another failure', async () => (await lane(id)).failingSince !== null)
  await watchAfter(id, 1)
  expect(smtp.mails).toHaveLength(8)
})

it('mails once about many webhooks, later when the mail server is back, and not at all after a success', async () => {
  await addAdmin(harness, 'ada@example.test')
  const workers = await harness.start()
  const [first = '', second = '', healed = '', paused = '', idle = ''] = await addFailing('Many', 5)
  // Otherwise it would try again, and fail.
  await workers.stop()
  const away = createMailer({
    smtpUrl: 'smtp://127.0.0.1:9',
    from: 's@example.test',
    dataDir: tmpdir(),
    log: harness.ctx.log,
  })
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: null }).where('webhookId', '=', healed).execute()
  await harness.ctx.db.updateTable('webhook').set({ enabled: false }).where('id', '=', paused).execute()
  await harness.ctx.db.updateTable('webhookLane').set({ pending: 0 }).where('webhookId', '=', idle).execute()
  clock.advance(HOUR_MS)
  await watchFailing(harness.ctx, away)
  await away.close()
  expect(smtp.mails).toEqual([])
  await watchFailing(harness.ctx, mailer)
  expect(shown()).toEqual([['ada@example.test', '2 webhooks fail']])
  const [mail] = smtp.mails
  for (const id of [first, second]) {
    expect(mail?.text).toContain(`\nhttp://127.0.0.1/orgs/${harness.scope.orgId}/webhooks/${id}\n`)
  }
  for (const id of [healed, paused, idle]) expect(mail?.text).not.toContain(id)
  await watchFailing(harness.ctx, mailer)
  expect(smtp.mails).toHaveLength(1)
})

it('mails an admin of many organizations once, about all of them', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, () => harness.addOrg()))
  await addAdmin(harness, 'ada@example.test', 'admin', others)
  await addAdmin(harness, 'bob@example.test')
  const workers = await harness.start()
  const [first = ''] = await addFailing('First')
  for (const of of others) {
    const { id } = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'Other' }, null, of)
    await harness.audit('nobody takes it', null, of)
    await waitUntil('a failure', async () => (await lane(id)).failingSince !== null)
  }
  await workers.stop()
  clock.advance(HOUR_MS)
  await watchAfter(first, 1.1)
  expect(shown()).toEqual([
    ['ada@example.test', '5 webhooks fail'],
    ['bob@example.test', 'A webhook fails'],
  ])
  const ofAda = smtp.mails.find(({ subject }) => subject === '5 webhooks fail')
  for (const { orgId } of [harness.scope, ...others]) expect(ofAda?.text).toContain(`/orgs/${orgId}/webhooks/`)
  await watchFailing(harness.ctx, mailer)
  expect(smtp.mails).toHaveLength(2)
})

it('mails as soon as the organization has an admin, and not about a webhook that has recovered or was disabled until then', async () => {
  const workers = await harness.start()
  const [first = '', healed = '', paused = ''] = await addFailing('Lonely', 3)
  await workers.stop()
  await watchAfter(first, 1)
  await addAdmin(harness, 'reader@example.test', 'read')
  await watchAfter(first, 2)
  expect(smtp.mails).toEqual([])
  await harness.ctx.db.updateTable('webhookLane').set({ failingSince: null }).where('webhookId', '=', healed).execute()
  await updateWebhook(harness.ctx, harness.scope, { id: paused, body: { enabled: false }, outbound: harness.outbound })
  await addAdmin(harness, 'ada@example.test')
  await watchAfter(first, 3)
  expect(shown()).toEqual([['ada@example.test', 'A webhook fails']])
  expect(smtp.mails[0]?.text).toContain(first)
  for (const id of [healed, paused]) expect(smtp.mails[0]?.text).not.toContain(id)
  await watchAfter(first, 4)
  expect(smtp.mails).toHaveLength(1)
})

it('mails about a webhook whose receiver wants no messages any more, once, and not if somebody has enabled it again', async () => {
  await addAdmin(harness, 'ada@example.test')
  const enabled = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'Enabled again' })
  const gone = await harness.addWebhook({ url: receiver.url, topics: ['audits'], name: 'Gone' })
  receiver.answer(status(410))
  const workers = await harness.start()
  await harness.audit('nobody wants it')
  for (const { id } of [enabled, gone]) await waitUntil('disabled', async () => !(await webhook(id)).enabled)
  await workers.stop()
  const body = { enabled: true }
  await updateWebhook(harness.ctx, harness.scope, { id: enabled.id, body, outbound: harness.outbound })
  await watchFailing(harness.ctx, mailer)
  await watchFailing(harness.ctx, mailer)
  expect(shown()).toEqual([['ada@example.test', 'A webhook has been disabled']])
  expect(smtp.mails[0]?.text).toContain(
    `webhook ${gone.id} (Gone) of the organization "Org" answered 410 Gone, so the webhook has been disabled.`,
  )
  expect(smtp.mails[0]?.text).not.toContain(enabled.id)
})

it('continues with other webhooks when one can not be noted, and fails in the end', async () => {
  await addAdmin(harness, 'ada@example.test')
  const workers = await harness.start()
  const [first = '', second = ''] = (await addFailing('Both', 2)).toSorted((a, b) => (a < b ? -1 : 1))
  await workers.stop()
  await refuseRow(harness.ctx, { table: 'webhook_notice', on: 'insert', column: 'webhook_id', value: first })
  await expect(watchAfter(first, 1)).rejects.toThrow(/^1 of 2 parts failed$/)
  expect(smtp.mails[0]?.text).toContain(second)
  expect(smtp.mails[0]?.text).not.toContain(first)
  await permitRows(harness.ctx, 'webhook_notice')
  await watchAfter(first, 1.1)
  expect(smtp.mails[1]?.text).toContain(first)
})

it('lists notices of disabled webhooks first, and none whose last stage was mailed before an earlier one', async () => {
  const workers = await harness.start()
  const ids = await addFailing('Stages', 2)
  await workers.stop()
  const { orgId } = harness.scope
  await inTx(harness.ctx, async (tx) => {
    for (const webhookId of ids) {
      const { failingSince } = await lane(webhookId)
      if (failingSince !== null) await upsertNotice(tx, { orgId, webhookId, failingSince, hours: 1 })
    }
  })
  const [, disabled = ''] = ids.toSorted()
  const row = harness.ctx.db.updateTable('webhook').where('id', '=', disabled)
  await row.set({ enabled: false, disabledWhy: 'failing' }).execute()
  const notices = await listUnmailedNotices(harness.ctx.db)
  expect(notices).toMatchObject([{ webhookId: disabled, hours: 1 }, { hours: 1 }])
  await inTx(harness.ctx, async (tx) => {
    for (const notice of notices) await upsertNotice(tx, { ...notice, hours: 24 })
    for (const hours of [24, 1]) for (const notice of notices.slice(1)) await markMailed(tx, { ...notice, hours })
  })
  expect(await listUnmailedNotices(harness.ctx.db)).toMatchObject([{ webhookId: disabled, hours: 24 }])
})
