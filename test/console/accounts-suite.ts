import type { Page } from 'playwright-core'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { startIdentityProvider } from '../sso/identity-provider.ts'
import { addSso } from '../sso/world.ts'
import { codeAt } from '../support/peers/browser.ts'
import { signIn } from '../support/peers/chromium.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { addPerson, addPrivilege, enableSecondFactor } from '../support/people.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

interface Opened {
  readonly server: ConsoleWorld
  /** The identity providers of domains. */
  readonly ssoDomains: Map<string, string>
}

/** Tests how people get an account, sign in, and secure it. */
export function testAccounts(opened: () => Opened): void {
  let server: ConsoleWorld
  let org: string
  let ssoDomains: Map<string, string>

  beforeAll(() => {
    ;({ server, ssoDomains } = opened())
    org = server.path
  })

  it('asks for the second factor', { timeout: WITHIN_MS }, async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    const secret = await enableSecondFactor(server, person)
    const { page, context } = await server.openPage()
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Code').fill('000000')
    await page.keyboard.press('Enter')
    await page.locator('[aria-invalid="true"]').waitFor()
    // The next code: one that has been used counts no more.
    await page.getByLabel('Code').fill(codeAt(secret, new Date(Date.now() + 30_000)))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${org}`)
    await context.close()
  })

  it('leads from the registration, by the mail, to a new organization', { timeout: WITHIN_MS }, async () => {
    const { page, context } = await server.openPage()
    const email = 'ada@example.com'
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Create an account' }).click()
    // The page before has such a field too.
    await page.getByLabel('First name').waitFor()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Last name').fill('Lovelace')
    await page.getByLabel('Organization').fill('Engines')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByText('Invalid field password').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Password', { exact: true }).fill('a much longer password')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByText(`A mail to ${email}`).waitFor()
    await page.goto(`/verify/register?token=${tokenIn(await waitForMail(server.dataDir, email))}`)
    await page.getByLabel('Password').fill('a much longer password')
    await page.getByRole('button', { name: 'Finish the registration' }).click()
    await page.getByRole('heading', { name: 'Engines' }).or(page.getByText('Engines')).first().waitFor()
    await context.close()
  })

  it('leaves at an organization what was typed there', { timeout: WITHIN_MS }, async () => {
    const person = await server.addOrg('Northern lights')
    const place = { orgId: server.org.orgId, adminId: person.adminId }
    await addPrivilege(server, place, { scope: 'org', role: 'admin' })
    const { page, context } = await server.enter(person, `${org}/settings`)
    const [name, expiry] = [page.getByLabel('Name', { exact: true }), page.getByLabel('Passwords expire after')]
    const choice = page.getByRole('combobox', { name: 'Organization' })
    await choice.focus()
    await choice.selectOption('Northern lights')
    await page.waitForURL(`**/orgs/${person.orgId}`)
    await page.getByLabel('Name of a new site').waitFor()
    await choice.and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await expiry.waitFor()
    await page.evaluate('history.go(-2)')
    await page.waitForURL(`**${org}/settings`)
    await name.fill('Typed')
    await expiry.fill('90')
    await page.evaluate('history.go(2)')
    await page.getByRole('dialog').getByRole('button', { name: 'Drop the changes' }).click()
    await page.waitForURL(`**/orgs/${person.orgId}/settings`)
    await waitUntil('the name is the other one', async () => (await name.inputValue()) === 'Northern lights')
    expect(await expiry.inputValue()).toBe('')
    await context.close()
  })

  it('shows a new token once, and sets up a second factor', { timeout: 2 * WITHIN_MS }, async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const { page, context } = await server.enter(person, '/account')
    await page.getByLabel('Name of a new token').fill('backup')
    await page.getByRole('button', { name: 'Create the token' }).click()
    const tokens = page.getByRole('region', { name: 'API tokens' })
    const key = await tokens.locator('pre').innerText()
    const asked = { headers: { authorization: `Token ${key}` } }
    const self = async (init: RequestInit) => (await fetch(`${server.url}/api/v1/self`, { ...asked, ...init })).json()
    await page.getByLabel('First name').fill('Grace')
    const headers = { ...asked.headers, 'content-type': 'application/json' }
    await self({ method: 'PUT', headers, body: JSON.stringify({ first_name: 'Ada', last_name: 'Hopper' }) })
    await page.getByRole('button', { name: 'Save the profile' }).click()
    await page.getByText('First name is now "Ada". Save again to replace it').waitFor()
    const saved = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.ok())
    await page.getByRole('button', { name: 'Save the profile' }).click()
    await saved
    expect(await self({})).toMatchObject({ first_name: 'Grace', last_name: 'Hopper' })
    const line = tokens.getByRole('listitem').filter({ hasText: 'backup' })
    await line.getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('dialog').getByText('Revokes 1 token (backup). Programs that use it are refused').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await line.waitFor({ state: 'detached' })
    expect((await fetch(`${server.url}/api/v1/self`, asked)).status).toBe(401)

    await page.getByRole('button', { name: 'Set up' }).click()
    const factor = page.getByRole('region', { name: 'Second factor' })
    const picture = factor.getByAltText('QR code of the secret')
    await waitUntil('the picture is there', () =>
      picture.evaluate((image: { readonly naturalWidth?: number }) => (image.naturalWidth ?? 0) > 0),
    )
    await expectAccessible(page)
    const secret = await factor.locator('code').innerText()
    await factor.getByLabel('Code', { exact: true }).fill('000000')
    await factor.getByRole('button', { name: 'Enable' }).click()
    await factor.getByRole('alert').or(factor.getByText('Invalid field two_factor')).first().waitFor()
    await factor.getByLabel('Code', { exact: true }).fill(codeAt(secret, new Date()))
    await factor.getByRole('button', { name: 'Enable' }).click()
    await factor.getByText('Enabled', { exact: true }).waitFor()
    const [code = '', ...others] = (await factor.locator('pre').innerText()).split('\n')
    expect(others.length).toBeGreaterThan(5)
    await expectAccessible(page)
    await factor.getByLabel('Code', { exact: true }).first().fill(code)
    await factor.getByLabel('Your password').first().fill(person.password)
    await factor.getByRole('button', { name: 'Disable' }).click()
    await factor.getByText('Disabled', { exact: true }).waitFor()
    // The codes are worth nothing any more.
    expect(await factor.locator('pre').count()).toBe(0)

    await page.getByLabel('Current password').fill('wrong')
    await page.getByLabel('New password').fill('another long password')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('Invalid field old_password').waitFor()
    await page.getByLabel('Current password').fill(person.password)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password is changed').waitFor()
    await context.close()
  })

  it('signs people in by the identity provider of their organization', { timeout: WITHIN_MS }, async () => {
    const idp = await startIdentityProvider()
    onTestFinished(() => idp.close())
    idp.people.set('ada', { nameId: 'ada@company.example', attributes: { Role: 'reader' } })
    ssoDomains.set('company.example', (await addSso(server, idp)).id)
    const { page, context } = await server.openPage()
    /** Enters an address of the organization, and signs Ada in at the provider. */
    const signInAda = async (tab: Page): Promise<void> => {
      await tab.getByLabel('Email at your organization').fill('ada@company.example')
      await tab.getByRole('button', { name: 'Continue' }).click()
      await tab.waitForURL(`${idp.ssoUrl}?*`)
      // The page of the provider has no input fields: the test sets the person.
      const submit = (field = '') =>
        tab.evaluate(`document.forms[0].insertAdjacentHTML('beforeend', '${field}'); document.forms[0].submit()`)
      await submit('<input name="user" value="ada" />')
      await tab.locator('[name=SAMLResponse]').waitFor({ state: 'attached' })
      await submit()
    }
    await page.goto(`/sign-in?return=${encodeURIComponent(`${org}/webhooks`)}`)
    await page.getByRole('button', { name: 'Sign in with single sign-on' }).click()
    await page.getByLabel('Email at your organization').fill('ada@unknown.example')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('No identity provider is set up').waitFor()
    await expectAccessible(page)
    await signInAda(page)
    await page.waitForURL(`**${org}/webhooks`)

    await page.getByLabel('Name', { exact: true }).fill('Kept')
    const { id } = await server.ctx.db
      .selectFrom('admin')
      .select('id')
      .where('email', '=', 'ada@company.example')
      .executeTakeFirstOrThrow()
    await server.ctx.db.deleteFrom('session').where('adminId', '=', id).execute()
    const cover = page.getByRole('dialog', { name: 'Your session has ended' })
    await waitUntil('the end of the session', async () => {
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return cover.isVisible()
    })
    // They have no password.
    expect(await cover.getByLabel('Password').count()).toBe(0)
    const opened = context.waitForEvent('page')
    await cover.getByRole('link', { name: 'Sign in in a new tab' }).click()
    const tab = await opened
    await tab.getByRole('button', { name: 'Sign in with single sign-on' }).click()
    await signInAda(tab)
    await cover.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kept')
    await context.close()
  })

  it('requests a mail that resets the password', { timeout: WITHIN_MS }, async () => {
    const { page, context } = await server.openPage()
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    // The page before has such a field too.
    await page.getByRole('heading', { name: 'Reset your password' }).waitFor()
    await page.getByLabel('Email').fill(server.org.email)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByText('a mail is on its way').waitFor()
    expect(tokenIn(await waitForMail(server.dataDir, server.org.email))).not.toBe('')
    await context.close()
  })
}
