import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPerson } from '../support/people.ts'
import { noChromium, openSession } from '../support/peers/chromium.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

describe.skipIf(noChromium !== null)(`webhooks in the console${noChromium === null ? '' : `: ${noChromium}`}`, () => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await startConsole()
  }, 240_000)
  afterAll(() => world?.close())

  it('says that a webhook without topics gets no messages', { timeout: WITHIN_MS }, async () => {
    await world.addWebhook({ name: 'Silent', url: 'http://127.0.0.1:9/hook' })
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks`)
    const row = page.getByRole('listitem').filter({ hasText: 'Silent' })
    await row.getByText('Gets no events').waitFor()
    await row.getByRole('link').click()
    await page.getByText('The webhook has no topics, so it never gets a message except test messages').waitFor()
    await page.getByRole('link', { name: 'Edit' }).click()
    const hint = page.getByText('Without topics the webhook gets only test messages')
    await hint.waitFor()
    await expectAccessible(page)
    await page.getByLabel('audits').check()
    await hint.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Healthy').waitFor()
    await context.close()
  })

  it('changes a webhook, and leads to what the server refuses', { timeout: WITHIN_MS }, async () => {
    const body = { name: 'Old name', url: 'http://127.0.0.1:9/hook', secret: 'a secret', topics: ['audits'] }
    const id = await world.addWebhook({ ...body, enabled: false })
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    await page.getByText('Disabled', { exact: true }).waitFor()
    await page.getByText('An administrator has disabled the webhook, and 0 messages wait').waitFor()
    await page.getByText('Disabled since', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('heading', { name: 'Edit Old name' }).waitFor()
    // Not that of the link, which has gone.
    await waitUntil('the focus of the content', () => page.evaluate("document.activeElement.id === 'content'"))
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Old name')
    expect(await page.getByLabel('Secret', { exact: true }).inputValue()).toBe('')
    await page.getByLabel('Name', { exact: true }).fill('New name')
    const others = { name: 'Their name', single_event_per_message: true }
    expect((await world.call('PUT', `${world.path}/webhooks/${id}`, { body: others })).status).toBe(200)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed this meanwhile: Name is now "Their name". Save again').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('New name')
    await page.getByLabel('Address').fill('nonsense')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Invalid field url: "nonsense" must be an address').waitFor()
    await waitUntil('the focus of the field', () =>
      page.getByLabel('Address').evaluate((field) => field === field.ownerDocument.activeElement),
    )
    await page.getByLabel('Address').fill('http://127.0.0.1:9/other')
    await page.getByLabel('Rate limit').fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Invalid field rate_limit').waitFor()
    await page.getByLabel('Rate limit').fill('10 per second')
    await page.getByLabel('Order').selectOption('device')
    await page.getByLabel('Sign by a public key (Ed25519)').check()
    await expectAccessible(page)
    await page.getByLabel('Enabled').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'New name' }).waitFor()
    await page.getByText('Healthy').waitFor()
    const { body: changed } = await world.call('GET', `${world.path}/webhooks/${id}`)
    expect(changed).toMatchObject({ ...body, name: 'New name', url: 'http://127.0.0.1:9/other', enabled: true })
    expect(changed).toMatchObject({
      single_event_per_message: true,
      order: 'device',
      rate_limit: { messages: 10, per: 'second' },
      ed25519_signatures: true,
    })
    await context.close()
  })

  it('enables a disabled webhook, and shows how its messages are verified', { timeout: WITHIN_MS }, async () => {
    const topics = ['audits', 'nac_events']
    const body = { name: 'Stopped', url: 'http://127.0.0.1:9/hook', topics, enabled: false }
    const id = await world.addWebhook({ ...body, secret: 'the first', ed25519_signatures: true })
    await world.call('PUT', `${world.path}/webhooks/${id}`, { body: { secret: 'the second' } })
    const gone = await world.addWebhook({
      name: 'Gone',
      url: 'http://127.0.0.1:9/hook',
      topics: ['audits'],
      enabled: false,
    })
    await world.ctx.db.updateTable('webhook').set({ disabledWhy: 'gone' }).where('id', '=', gone).execute()
    const failures = { failures: 25, openUntil: new Date(world.ctx.clock.now().getTime() + 60_000) }
    await world.ctx.db.updateTable('webhookLane').set(failures).where('webhookId', '=', id).execute()
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    const health = page.getByRole('region', { name: 'Health' })
    await health.getByText('Failures in a row').waitFor()
    expect(await health.textContent()).not.toContain('Next attempt')
    await health.getByText('nothing within 7 days').waitFor()
    await page.getByText('audits, nac_events (not sent yet)').waitFor()
    const { keys } = (await world.call('GET', `/webhook_keys/${world.org.orgId}/${id}`)).body
    await page.getByText(keys[0].public_key).waitFor()
    await page.getByText('Former secret signs').waitFor()
    await page.getByRole('button', { name: 'Enable…' }).click()
    await page.getByRole('dialog').getByText('Waiting messages (0) are sent now. Events').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    // The health and the webhook are read by separate requests.
    await page.getByText('Healthy').waitFor()
    await page.getByRole('button', { name: 'Enable…' }).waitFor({ state: 'detached' })
    expect((await world.call('GET', `${world.path}/webhooks/${id}`)).body.enabled).toBe(true)
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Webhooks' }).first().click()
    const byHealth = page.getByRole('navigation', { name: 'Webhooks by health' })
    await page.getByRole('listitem').filter({ hasText: 'Stopped' }).getByText('Healthy').waitFor()
    await byHealth.getByText('Failing').click()
    await page.getByText('1 failing webhook').waitFor()
    const row = page.getByRole('listitem').filter({ hasText: 'Gone' })
    await row.getByText('The webhook is disabled, because its receiver answered 410 Gone').waitFor()
    expect(await page.getByRole('listitem').filter({ hasText: 'Stopped' }).count()).toBe(0)
    await expectAccessible(page)
    await byHealth.getByText('All').click()
    await page.getByRole('searchbox', { name: 'Name' }).fill('STOP')
    await page.keyboard.press('Enter')
    await page.getByText('1 webhook', { exact: true }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Stopped' }).waitFor()
    await page.getByRole('searchbox', { name: 'Name' }).fill('other')
    await page.keyboard.press('Enter')
    await page.getByText('No webhook matches').waitFor()
    await page.getByRole('searchbox', { name: 'Name' }).and(page.locator(':focus')).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Webhooks' }).first().click()
    await page.getByRole('listitem').filter({ hasText: 'Stopped' }).waitFor()
    expect(await page.getByRole('searchbox', { name: 'Name' }).inputValue()).toBe('')
    await context.close()
  })

  it('reads the health of each webhook in the list less often than their number', { timeout: WITHIN_MS }, async () => {
    await world.addWebhook({ name: 'Listed', url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
    const { page, context } = await world.openPage()
    await openSession(context, world.org)
    await page.clock.install()
    await page.goto(`${world.path}/webhooks?name=Listed`)
    await page.getByText('Healthy').waitFor()
    const healths: string[] = []
    page.on('request', (request) => request.url().endsWith('/health') && healths.push(request.url()))
    // The clock of the page also runs on by itself.
    for (let polls = 0; polls < 7; polls += 1)
      await Promise.all([page.waitForResponse(/failing=true/), page.clock.runFor(6000)])
    expect(healths.length).toBeGreaterThan(0)
    expect(healths.length).toBeLessThan(4)
    await context.close()
  })

  it('fits a long name and a long address where the page is narrow', { timeout: WITHIN_MS }, async () => {
    const name = 'W'.repeat(128)
    const id = await world.addWebhook({ name, url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
    const { page, context } = await world.openPage({ width: 390, height: 844 })
    await openSession(context, world.org)
    for (const path of [`?name=${name}`, `/${id}/edit`]) {
      await page.goto(`${world.path}/webhooks${path}`)
      await page.getByRole('link', { name }).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(390)
    }
    const url = `http://127.0.0.1:9/${'a'.repeat(1900)}`
    await page.goto(`${world.path}/webhooks/${await world.addWebhook({ name: 'Long', url, topics: ['audits'] })}`)
    const address = page.getByText(url)
    await address.waitFor()
    expect((await address.boundingBox())?.height).toBeLessThan(300)
    await expectAccessible(page)
    await context.close()
  })

  it('says where a receiver that can not be called fetches its messages', { timeout: WITHIN_MS }, async () => {
    const id = await world.addWebhook({ name: 'Fetched', type: 'pull', topics: ['audits'] })
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    await page.getByText(`/api/v1${world.path}/webhooks/${id}/messages`).waitFor()
    await page.getByText('once its receiver has fetched and acknowledged them').waitFor()
    expect(await page.getByText('Certificate of the receiver').count()).toBe(0)
    await page.getByRole('button', { name: 'Send a test message' }).press('Enter')
    await page.getByText('It waits for its receiver').waitFor()
    await expectAccessible(page)
    await context.close()
  })

  it('shows a delivery whose request is no longer stored', { timeout: WITHIN_MS }, async () => {
    const id = await world.addWebhook({ name: 'Forgetful', url: 'http://127.0.0.1:9/hook' })
    const delivery = {
      orgId: world.org.orgId,
      id: uuidv7(),
      webhookId: id,
      messageId: uuidv7(),
      siteId: null,
      topic: 'audits',
      attempt: 1,
      status: 'success' as const,
      statusCode: 200,
      error: null,
      reqUrl: 'http://127.0.0.1:9/hook',
      createdAt: world.ctx.clock.now(),
      durationMs: 5,
      final: true,
      nextAttempt: null,
    }
    await world.ctx.db.insertInto('webhookDelivery').values(delivery).execute()
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    await page.getByText('Request and response').click()
    await page.getByText('The request and the response are no longer stored').waitFor()
    await context.close()
  })

  it('says what ends the pause of a failing webhook', { timeout: WITHIN_MS }, async () => {
    const id = await world.addWebhook({ name: 'Down', url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
    const failures = { failures: 7, openUntil: new Date(world.ctx.clock.now().getTime() + 60_000) }
    await world.ctx.db.updateTable('webhookLane').set(failures).where('webhookId', '=', id).execute()
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    await page.getByText('or at once when a test message succeeds').waitFor()
    await context.close()
  })

  it('shows undelivered messages, and sends them again', { timeout: WITHIN_MS }, async () => {
    const webhook = { name: 'Tickets', url: 'http://127.0.0.1:9/hook', topics: ['audits'], enabled: false }
    const id = await world.addWebhook(webhook)
    const at = world.ctx.clock.now()
    const message = {
      orgId: world.org.orgId,
      webhookId: id,
      topic: 'audits',
      reason: 'expired' as const,
      eventCount: 2,
      attempt: 3,
      body: Buffer.from('{}'),
      createdAt: at,
      parkedAt: at,
    }
    await world.ctx.db
      .insertInto('webhookParkedMessage')
      .values([uuidv7(), uuidv7()].map((messageId) => Object.assign({ id: messageId }, message)))
      .execute()
    // Attempts of the past have no use for the time of the next one.
    const nextAttempts = [new Date(Date.now() + 3_600_000), new Date(Date.now() - 60_000)]
    for (const [index, nextAttempt] of nextAttempts.entries()) {
      const delivery = { orgId: world.org.orgId, id: uuidv7(), createdAt: at }
      const failure = { status: 'failure' as const, statusCode: 503, error: null, durationMs: index, final: false }
      const sent = {
        webhookId: id,
        messageId: uuidv7(),
        siteId: null,
        topic: 'audits',
        attempt: 1,
        reqUrl: webhook.url,
      }
      await world.ctx.db
        .insertInto('webhookDelivery')
        .values({ ...delivery, ...sent, ...failure, nextAttempt })
        .execute()
      const exchange = { reqHeaders: '{}', reqPayload: '{}', respHeaders: null, respBody: null, remoteAddress: null }
      await world.ctx.db
        .insertInto('webhookBody')
        .values({ orgId: delivery.orgId, deliveryId: delivery.id, createdAt: at, ...exchange })
        .execute()
    }
    const reader = await world.enter(
      await addPerson(world, [{ scope: 'org', role: 'read' }]),
      `${world.path}/webhooks/${id}`,
    )
    await reader.page.getByText('2 events · 3 attempts · it waited for a week').nth(1).waitFor()
    expect(await reader.page.getByRole('button', { name: /Send|Delete/ }).count()).toBe(0)
    await reader.page.getByText('503').nth(1).waitFor()
    // Nothing is sent while the webhook is disabled.
    expect(await reader.page.getByText('next attempt').count()).toBe(0)
    // Both were at the same time.
    const names = reader.page.locator('details').locator('xpath=preceding-sibling::p/span')
    expect(new Set(await names.allInnerTexts()).size).toBe(2)
    await reader.page.route(/\/(parked\?.*|health)$/, async (route) => {
      const response = await route.fetch()
      const json: unknown = await response.json()
      const [first_overflow, last_overflow] = [Date.UTC(2024, 5, 2) / 1000, Date.now() / 1000 - 600]
      const dropped = { parked: 10_000, overflowed: 7_654_321, first_overflow, last_overflow }
      await route.fulfill({
        json: Array.isArray(json) ? json : Object.assign({}, json, dropped),
        headers: { ...response.headers(), 'x-page-total': '1234567' },
      })
    })
    await reader.page.setViewportSize({ width: 390, height: 844 })
    await reader.page.getByText(/the first \d+ of 1,234,567/).waitFor()
    await reader.page
      .getByText(/^7,654,321, the last one 10 min\. ago \(since .*2024.*\)\. They can't be sent again/)
      .waitFor()
    await reader.page.getByText('at least 10,000').waitFor()
    await reader.page.getByRole('button', { name: 'Show 100 of 1,234,567' }).waitFor()
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await reader.page.setViewportSize({ width: 1280, height: 860 })
    await reader.page.unrouteAll({ behavior: 'wait' })
    const row = world.ctx.db.updateTable('webhook').where('id', '=', id)
    await row.set({ enabled: true }).execute()
    await reader.page.reload()
    await reader.page.getByText('next attempt').waitFor()
    expect(await reader.page.getByText('next attempt').count()).toBe(1)
    // A later attempt that succeeded would not be among these.
    await reader.page.getByLabel('Result').selectOption('Failed')
    await reader.page.getByText('next attempt').waitFor({ state: 'detached' })
    await reader.page.getByText('503').nth(1).waitFor()
    await row.set({ enabled: false }).execute()
    await reader.context.close()

    const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
    await page.getByRole('button', { name: 'Send it again' }).first().click()
    await page.getByText('1 message waits to be sent again until the webhook is enabled.').waitFor()
    await page.getByText('1, the oldest from').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Send all again…' }).click()
    const effect =
      'Sends 1 message again, the oldest first, with the same ids and bytes. They wait until the webhook is enabled.'
    await page.getByRole('dialog').getByText(effect).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Send all again' }).click()
    await page.getByRole('region', { name: 'Messages that were not taken' }).waitFor({ state: 'detached' })
    await page.getByText('1 message waits to be sent again until the webhook is enabled.').waitFor()
    await page.getByText('2, the oldest from').waitFor()
    await waitUntil('the focus of the content', () => page.evaluate("document.activeElement.id === 'content'"))
    await context.close()
  })

  it(
    'shows since when nothing was acknowledged in the zone of the viewer, or of the site',
    { timeout: WITHIN_MS },
    async () => {
      const body = { name: 'Nightly', type: 'pull', topics: ['audits'] }
      const { body: site } = await world.call('POST', `${world.path}/sites`, {
        body: { name: 'Edo', timezone: 'Asia/Tokyo' },
      })
      const { body: ofSite } = await world.call('POST', `/sites/${site.id}/webhooks`, { body })
      const failingSince = new Date('2026-01-20T12:00:30Z')
      const lanes = [await world.addWebhook(body), ofSite.id]
      await world.ctx.db.updateTable('webhookLane').set({ failingSince }).where('webhookId', 'in', lanes).execute()
      const { page, context } = await world.enter(world.org, world.path)
      // The viewer is in Berlin.
      const reason = (time: string) => page.getByText(new RegExp(`no message since 20 Jan.*, ${time}, and`))
      for (const [search, time] of [
        ['', '13:00:30 CET'],
        [`site=${site.id}&`, '21:00:30 GMT.9'],
      ] as const) {
        await page.goto(`${world.path}/webhooks?${search}failing=true`)
        await reason(time).waitFor()
        await page.getByRole('link', { name: 'Nightly' }).click()
        await page.getByRole('heading', { name: 'Nightly' }).waitFor()
        await reason(time).waitFor()
      }
      await context.close()
    },
  )
})
