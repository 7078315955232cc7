import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noChromium } from '../support/peers/chromium.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

describe.skipIf(noChromium !== null)(`webhooks in the console${noChromium === null ? '' : `: ${noChromium}`}`, () => {
  let world: ConsoleWorld
  beforeAll(async () => {
    world = await startConsole()
  }, 240_000)
  afterAll(() => world?.close())

  async function addWebhook(body: object): Promise<string> {
    const { status, body: webhook } = await world.call('POST', `${world.path}/webhooks`, { body })
    expect(status).toBe(200)
    return webhook.id
  }

  it('says that a webhook without topics gets no messages', { timeout: WITHIN_MS }, async () => {
    await addWebhook({ name: 'Silent', url: 'http://127.0.0.1:9/hook' })
    const { page, context } = await world.enter(world.org, `${world.path}/webhooks`)
    const row = page.getByRole('listitem').filter({ hasText: 'Silent' })
    await row.getByText('No topics').waitFor()
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
})
