import { runInNewContext } from 'node:vm'

export interface Pressed {
  readonly said: string
  readonly again: boolean
  readonly leadsOn: boolean
}

/**
 * Opens a page behind a mailed link and runs its script with as much of a browser as it needs.
 * @param fields Values of the form's fields, by name.
 * @returns `press` presses the button of the page or submits its form, and resolves with the text that the page shows
 *   then, whether the button may be pressed again, and whether the page leads on to the console.
 */
export async function openPage(
  url: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ press(): Promise<Pressed> }> {
  const page = await fetch(url)
  const script = /<script nonce="[^"]+">(.*)<\/script>/s.exec(await page.text())?.[1] ?? ''
  const listeners: ((event: { preventDefault(): void }) => Promise<void>)[] = []
  const addEventListener = (_event: string, listener: (typeof listeners)[number]) => listeners.push(listener)
  const message = { textContent: '' }
  const next = { hidden: true }
  const button = { disabled: false, addEventListener }
  const elements = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value }]))
  const form = { hidden: false, elements, addEventListener }
  const found: Readonly<Record<string, unknown>> = { button, form, '#message': message, '#next': next }
  runInNewContext(script, {
    document: { querySelector: (selector: string) => found[selector] ?? null },
    location: new URL(url),
    fetch: (path: string, init: RequestInit) => fetch(new URL(path, url), init),
    URLSearchParams,
  })
  return {
    async press() {
      for (const listener of listeners) await listener({ preventDefault: () => {} })
      return { said: message.textContent, again: !button.disabled && !form.hidden, leadsOn: !next.hidden }
    },
  }
}
