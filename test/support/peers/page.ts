import { runInNewContext } from 'node:vm'

/**
 * Opens a page behind a mailed link and runs its script with as much of a browser as it needs.
 * @param fields Values of the form's fields, by name.
 * @returns `press` presses the button of the page or submits its form, and resolves with the text that the page shows
 *   then, and whether the button may be pressed again.
 */
export async function openPage(
  url: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ press(): Promise<{ readonly said: string; readonly again: boolean }> }> {
  const page = await fetch(url)
  const script = /<script nonce="[^"]+">(.*)<\/script>/s.exec(await page.text())?.[1] ?? ''
  const listeners: ((event: { preventDefault(): void }) => Promise<void>)[] = []
  const addEventListener = (_event: string, listener: (typeof listeners)[number]) => listeners.push(listener)
  const message = { textContent: '' }
  const button = { disabled: false, addEventListener }
  const elements = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value }]))
  const form = { hidden: false, elements, addEventListener }
  const found: Readonly<Record<string, unknown>> = { button, form, '#message': message }
  runInNewContext(script, {
    document: { querySelector: (selector: string) => found[selector] ?? null },
    location: new URL(url),
    fetch: (path: string, init: RequestInit) => fetch(new URL(path, url), init),
    URLSearchParams,
  })
  return {
    async press() {
      for (const listener of listeners) await listener({ preventDefault: () => {} })
      return { said: message.textContent, again: !button.disabled && !form.hidden }
    },
  }
}
