import type { Page, Route } from 'playwright-core'
import { expect } from 'vitest'

interface Places {
  readonly org: string
  readonly map: string
  readonly sso: string
}

/** A form, and how to fill it. */
interface FormCase {
  readonly who: 'admin' | 'newcomer' | 'nobody'
  readonly path: (places: Places) => string
  /** Shows the form. */
  readonly open?: (page: Page) => Promise<unknown>
  /** The label of the field that is filled, whose content must stay. */
  readonly field: string
  readonly text?: string
  /** Fills what the form needs besides. */
  readonly fillOthers?: (page: Page) => Promise<unknown>
  readonly action: string
  /** Where it sends its change. */
  readonly call: string
  /** The name of a field of the request, and the label under which the form shows it; absent: it shows all refusals in one place. */
  readonly refused?: readonly [name: string, label: string]
  /** How the server refuses what contradicts a change of somebody else; absent: there is no such refusal. */
  readonly conflict?: string
}

const picture = { name: 'kept.png', mimeType: 'image/png', buffer: Buffer.from('no picture') }

/** The forms of the console by their file: how they fail, or why they do not. */
export const forms: Readonly<Record<string, FormCase | string>> = {
  'audit/log/log-page.tsx': 'searches',
  'webhooks/list/webhook-list-page.tsx': 'searches',
  'operator/service/service-page.tsx': 'reads; see operator-suite.ts',
  'display/forms/request-form.tsx': {
    who: 'admin',
    path: ({ org }) => org,
    open: (page) => page.getByText('Add a site').click(),
    field: 'Name of a new site',
    action: 'Create the site',
    call: '**/sites',
    refused: ['timezone', 'Time zone'],
  },
  'display/forms/edit-form.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/settings`,
    field: 'Name',
    action: 'Rename',
    call: '**/api/v1/orgs/*',
    refused: ['name', 'Name'],
  },
  'display/forms/confirm-button.tsx': {
    who: 'admin',
    path: () => '/account',
    open: (page) => page.getByRole('button', { name: 'Delete your account…' }).click(),
    field: 'Your password',
    action: 'Delete your account',
    call: '**/api/v1/self',
    refused: ['password', 'Your password'],
    // Other buttons of this kind delete images, sites and organizations, and start plans.
    conflict: 'Upgrade 1 uses this image',
  },
  'orgs/setting-form.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/settings`,
    field: 'End idle sessions after (minutes)',
    action: 'Save the settings',
    call: '**/setting',
    refused: ['password_policy.requires_special_char', 'Require a special character'],
  },
  'orgs/grant-form.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/people`,
    field: 'Email',
    text: 'kept@example.com',
    action: 'Invite',
    call: '**/invites',
    refused: ['email', 'Email'],
  },
  'orgs/sso/sso-form.tsx': {
    who: 'admin',
    path: ({ sso }) => sso,
    field: 'URL after the logout',
    action: 'Save',
    call: '**/ssos/*',
    refused: ['issuer', 'Issuer'],
  },
  'orgs/home/home-page.tsx': {
    who: 'newcomer',
    path: () => '/',
    field: 'Name of the organization',
    action: 'Create the organization',
    call: '**/api/v1/orgs',
    refused: ['name', 'Name of the organization'],
  },
  'webhooks/form/webhook-form.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/webhooks/new`,
    field: 'Name',
    action: 'Create the webhook',
    call: '**/webhooks',
    refused: ['topics', 'alarms'],
  },
  'firmware/catalog/upload-panel.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/firmware`,
    field: 'Version',
    fillOthers: (page) => page.getByLabel('File').setInputFiles(picture),
    action: 'Upload',
    call: '**/firmware?*',
    refused: ['models', 'Models'],
    conflict: 'AP45 has version 1.0 from another image: delete that first',
  },
  'maps/map/picture-panel.tsx': {
    who: 'admin',
    path: ({ map }) => map,
    field: 'Name',
    fillOthers: (page) => page.getByLabel('Picture of the floor').setInputFiles(picture),
    action: 'Upload the picture',
    call: '**/image',
  },
  'maps/map/draw-panel.tsx': {
    who: 'admin',
    path: ({ map }) => map,
    async open(page) {
      await page.getByRole('button', { name: 'Set the scale' }).click()
      await page.getByText('0 points marked').waitFor()
      for (const key of ['Enter', 'ArrowRight', 'Enter']) await page.keyboard.press(key)
      await page.getByText('2 points marked').waitFor()
    },
    field: 'Length in meters',
    text: '7',
    action: 'Keep the drawing',
    call: '**/maps/*',
    refused: ['ppm', 'Length in meters'],
  },
  'devices/claim/claim-panel.tsx': {
    who: 'admin',
    path: ({ org }) => `${org}/claim`,
    field: 'Claim codes',
    text: 'KEPT-KEPT-KEPT1',
    action: 'Claim 1 device',
    call: '**/inventory',
  },
  'accounts/sign-in/sign-in-forms.tsx': {
    who: 'nobody',
    path: () => '/sign-in',
    field: 'Email',
    text: 'kept@example.com',
    fillOthers: (page) => page.getByLabel('Password', { exact: true }).fill('no password'),
    action: 'Sign in',
    call: '**/login',
    refused: ['password', 'Password'],
  },
}

/** Answers the changes that a page sends. @returns Their methods, which grows. */
export async function answerChanges(
  page: Page,
  url: string,
  answer: (route: Route) => Promise<void>,
): Promise<readonly string[]> {
  const sent: string[] = []
  await page.route(url, (route) => {
    const method = route.request().method()
    if (method === 'GET') return route.fallback()
    sent.push(method)
    return answer(route)
  })
  return sent
}

/** Expects that a form keeps its content and the focus when the server fails, and leads to the field that the server refuses. */
export async function expectKept(page: Page, form: FormCase): Promise<void> {
  const { field, text = 'Kept', fillOthers, action, call, refused, conflict } = form
  const input = page.getByLabel(field, { exact: true }).first()
  await input.fill(text)
  await fillOthers?.(page)
  const button = page.getByRole('button', { name: action, exact: true })
  const detail = `Invalid field ${refused?.[0] ?? 'unknown'}: is refused`
  const focused = page.locator(':focus')
  const conflicts = conflict === undefined ? [] : ([[409, conflict]] as const)
  for (const [status, answer] of [[500, 'The server answered 500.'], ...conflicts, [400, detail]] as const) {
    const sent = await answerChanges(page, call, (route) =>
      route.fulfill({ status, json: status === 500 ? {} : { detail: answer } }),
    )
    await button.focus()
    await page.keyboard.press('Enter')
    await page.getByText(answer).waitFor()
    expect({ sent: sent.length, text: await input.inputValue() }, `${action}: ${answer}`).toEqual({ sent: 1, text })
    if (status === 400 && refused !== undefined)
      await focused.and(page.getByLabel(refused[1], { exact: true })).waitFor()
    else expect(await focused.count(), `${action}: ${answer}`).toBe(1)
    await page.unrouteAll({ behavior: 'wait' })
  }
}
