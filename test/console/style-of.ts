import type { Locator } from 'playwright-core'

interface Page {
  getComputedStyle(element: unknown): Readonly<Record<string, string>>
}

/** Returns a property of an element as the browser has computed it. */
export function styleOf(element: Locator, property: string): Promise<string | undefined> {
  return element.evaluate((node, name) => (globalThis as unknown as Page).getComputedStyle(node)[name], property)
}
