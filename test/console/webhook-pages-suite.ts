import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { type Demo, WITHIN_MS } from './demo.ts'

/** Tests the pages of webhooks from the creation of one to its deletion. */
export function testWebhookPages(demo: () => Demo): void {
  it('creates a webhook, sends it a test message, and sends one again', { timeout: 2 * WITHIN_MS }, async () => {
    const { server, page, org } = demo()
    let status = 500
    const received: string[] = []
    const receiver = createServer(async (request, response) => {
      received.push(await text(request))
      response.writeHead(status).end('{"said":"busy"}')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void receiver.close())
    await once(receiver, 'listening')
    const { port } = receiver.address() as AddressInfo

    await page.goto(`${org}/webhooks`)
    await page.getByText('No webhooks here').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'New webhook' }).first().click()
    // The list, which stays until the script of the form has arrived, has a field of this name too.
    await page.getByRole('heading', { name: 'New webhook' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Tickets')
    await page.getByLabel('Address').fill('no address')
    await page.getByLabel('Secret', { exact: true }).fill('a secret of the two')
    await page.getByLabel('audits').check()
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    // The words of the server appear at the field.
    await page.getByText('Invalid field url').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Address').fill(`http://127.0.0.1:${port}/hook`)
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByRole('heading', { name: 'Tickets' }).waitFor()

    await page.getByRole('button', { name: 'Send a test message' }).click()
    const deliveries = page.getByRole('region', { name: 'Deliveries' })
    const attempt = (topic: string, result: string) =>
      deliveries
        .getByRole('listitem')
        .filter({ hasText: `${topic}${result}` })
        .first()
    const refused = attempt('ping', '500')
    await refused.getByText('Request and response').click()
    await refused.getByLabel('Body of POST').getByText('"topic": "ping"').waitFor()
    await refused.getByLabel('Body of Response 500').getByText('"said": "busy"').waitFor()
    await expectAccessible(page)

    status = 200
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Changes')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Changes' }).waitFor()
    // The webhook reports the change itself.
    await page.getByLabel('Result').selectOption('Delivered')
    await refused.waitFor({ state: 'detached' })
    const taken = attempt('audits', '200')
    await taken.getByText('Request and response').click()
    const before = received.length
    await taken.getByRole('button', { name: 'Send it again' }).click()
    await taken.getByText('It waits to be sent').waitFor()
    await waitUntil('a further message', () => Promise.resolve(received.length > before))
    expect(received.slice(0, before)).toContain(received[before])
    await page.getByRole('button', { name: 'Send all of them again…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Sends all messages again that the receiver accepted within the last day').waitFor()
    await expectAccessible(page)
    const soFar = received.length
    await dialog.getByRole('button', { name: 'Send all of them again' }).click()
    // Others of the webhook are the changes that it reports, such as a replay.
    await page.getByText(/^\d+ messages? waits? to be sent again\.$/).waitFor()
    const again = received[before] ?? ''
    await waitUntil('the same message', () => Promise.resolve(received.slice(soFar).includes(again)))

    const webhookPath = `/api/v1${new URL(page.url()).pathname}`
    const headers = { authorization: `Token ${server.demo?.api_token}` }
    const others = received.length
    for (let ping = 1; ping <= 50; ping += 1) {
      // Only ten may wait, and one that has arrived waits until its result is written.
      await waitUntil('a ping is accepted', async () => {
        const { status: answered } = await fetch(`${server.url}${webhookPath}/ping`, { method: 'POST', headers })
        expect([200, 429]).toContain(answered)
        return answered === 200
      })
    }
    await waitUntil('all pings', () => Promise.resolve(received.length >= others + 50))
    // The panel polls, which would take some seconds.
    await page.reload()
    await page.getByText(/the last 50 of \d\d/).waitFor()
    await page.getByRole('button', { name: 'Show older ones' }).click()
    await page.getByText('All are shown').and(page.locator(':focus')).waitFor()
    expect(await deliveries.getByRole('listitem').count()).toBeGreaterThan(50)

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Enabled').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Disabled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Webhooks' }).first().click()
    await page.getByText('1 webhook', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks here').waitFor()
  })
}
