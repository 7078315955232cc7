import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { setAsideEvents } from '../../src/events/store-outbox.ts'
import type { Refusals } from '../../src/gateway/admission/refusals.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { version } from '../../src/platform/version.ts'
import { listenTo } from '../support/peers/webhooks.ts'
import type { TestServer } from '../support/servers/server.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'

const OPERATOR = { as: null, headers: { authorization: 'Operator operator-key' } }

interface Opened {
  readonly server: TestServer
  /** The devices that the server has refused. */
  readonly refusals: Refusals
  readonly openPage: () => Promise<{ readonly page: Page }>
}

/** Tests what the page of the operator shows and does. */
export function testOperator(opened: () => Opened): void {
  let server: TestServer
  let refusals: Refusals
  let openPage: Opened['openPage']

  beforeAll(() => {
    ;({ server, refusals, openPage } = opened())
  })

  it('shows an operator the service, and devices that were refused', { timeout: WITHIN_MS }, async () => {
    const { ctx } = server
    refusals.add({ protocol: 'ucentral', why: 'tls', address: '192.0.2.7' })
    await ctx.db
      .insertInto('deviceRegistry')
      .values({
        ...{ id: '00000000-0000-0000-1000-02516eaa0001', mac: '02516eaa0001', serial: 'DM1', model: 'EAP102' },
        ...{ type: 'ap', claimCode: 'ABCDE-FGHIJ-KLMNO', orgId: null, createdAt: ctx.clock.now() },
      })
      .execute()
    const { page } = await openPage()
    await page.goto('/operator')
    await page.getByLabel('Operator key', { exact: true }).fill('not the key')
    await page.keyboard.press('Enter')
    await page.getByText('This is not the operator key of the service').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Operator key', { exact: true }).fill('operator-key')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Service' }).waitFor()
    await page.getByRole('region', { name: 'Process' }).getByText(version, { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Database' }).getByText('PostgreSQL').waitFor()
    await page.getByRole('region', { name: 'Refused devices' }).getByText('The TLS handshake failed').waitFor()
    await page.getByRole('region', { name: 'Unclaimed devices' }).getByText('ABCDE-FGHIJ-KLMNO').waitFor()
    await page.getByText('Every known edge appliance is claimed').waitFor()
    await page.getByRole('region', { name: 'Storage' }).getByText('Firmware').first().waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'As curl' }).click()
    await page.getByRole('dialog').getByText('Operator $OPERATOR_KEY').waitFor()
    await page.keyboard.press('Escape')
    // The key is nowhere but in the page.
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
    expect(kept).not.toContain('operator-key')
    await page.reload()
    await page.getByLabel('Operator key', { exact: true }).waitFor()
  })

  it('lists events that were set aside, and routes them again', { timeout: WITHIN_MS }, async () => {
    const { ctx } = server
    await listenTo(server, 'audits')
    await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Aside' } })
    const [event] = await ctx.db.selectFrom('webhookOutbox').select('id').orderBy('id', 'desc').limit(1).execute()
    if (event === undefined) throw new Error('no event')
    const at = ctx.clock.now()
    await inTx(ctx, (tx) => setAsideEvents(tx, [event.id], { at, reasonOf: () => 'Invalid string length' }))
    const page = await enterAsOperator()
    const aside = page.getByRole('region', { name: 'Events set aside' })
    await aside.getByText('Invalid string length').waitFor()
    await aside.getByText(`organization ${server.org.orgId}`).waitFor()
    await expectAccessible(page)
    await aside.getByRole('button', { name: 'Route all again…' }).click()
    await page.getByRole('dialog').getByText('Routes 1 event again').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Route all again' }).click()
    await aside.getByText('Every event was routed').waitFor()
    expect((await server.call('GET', '/operator/v1/set-aside-events', OPERATOR)).body).toEqual([])
  })

  it(
    'revokes the certificates of a device, or one of them, after stating the effect',
    { timeout: WITHIN_MS },
    async () => {
      const page = await enterAsOperator()
      const revoked = page.getByRole('region', { name: 'Revoked device certificates' })
      await revoked.getByText('No certificate is revoked').waitFor()
      await revoked.getByRole('button', { name: 'Revoke certificates…' }).click()
      const dialog = page.getByRole('dialog')
      const revoke = dialog.getByRole('button', { name: 'Revoke certificates' })
      await dialog.getByLabel('MAC address of the device').fill('no address')
      await revoke.click()
      // The words of the server appear at the field.
      await dialog.getByText('Invalid field mac').waitFor()
      expect(await dialog.getByLabel('MAC address of the device').getAttribute('aria-invalid')).toBe('true')
      await expectAccessible(page)
      await dialog.getByLabel('MAC address of the device').fill('02:51:6e:aa:00:07')
      await dialog.getByText('Revokes all certificates issued until now of 1 device (02:51:6e:aa:00:07)').waitFor()
      await revoke.click()
      await revoked.getByText('All that were issued until then').waitFor()
      await revoked.getByRole('button', { name: 'Revoke certificates…' }).click()
      await dialog.getByLabel('MAC address of the device').fill('02516eaa0008')
      await dialog.getByLabel('Serial number').fill('0A:bc')
      await dialog.getByText('its other certificates stay valid').waitFor()
      await revoke.click()
      await revoked.getByText('02:51:6e:aa:00:08').waitFor()
      const { body } = await server.call('GET', '/operator/v1/revoked-certificates', OPERATOR)
      expect(body).toMatchObject([{ mac: '02516eaa0007' }, { mac: '02516eaa0008', serial: 'abc' }])
      expect(body[0]).not.toHaveProperty('serial')
      await expectAccessible(page)
    },
  )

  async function enterAsOperator(): Promise<Page> {
    const { page } = await openPage()
    await page.goto('/operator')
    await page.getByLabel('Operator key', { exact: true }).fill('operator-key')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Service' }).waitFor()
    return page
  }
}
