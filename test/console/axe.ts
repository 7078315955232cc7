import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Each page compiles it anew: the shortened one in two thirds of the time. */
const source = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

const schemes = ['light', 'dark'] as const

const rules: Readonly<Record<(typeof schemes)[number], axe.RunOnly>> = {
  light: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  // Only colors differ in the dark.
  dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
}

/**
 * Expects that a page passes every rule of WCAG 2.2 A and AA that axe can decide, in light and dark colors, and that buttons
 * and links with the same text have names of their own.
 */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await findNameless(page), `${page.url()} repeats`).toEqual([])
  // The page's policy does not forbid it, because it is not a script of the page.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(source)
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor()
    const violations = await page.evaluate(async (runOnly) => {
      const checker = (globalThis as unknown as { readonly axe: typeof axe }).axe
      const found = await checker.run({ runOnly, resultTypes: ['violations'] })
      return found.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
      )
    }, rules[colorScheme])
    expect(violations, `${page.url()} ${colorScheme}`).toEqual([])
  }
}

/** What an element of a page has of interest here. */
interface Labelled {
  readonly tagName: string
  readonly innerText: string
  readonly ownerDocument: { getElementById(id: string): { readonly innerText: string } | null }
  getAttribute(name: string): string | null
}

/**
 * Returns the texts that several buttons, or links to different pages, have as their only names. It leaves out links with the
 * class `name`, such as those to devices: their texts are names that people have given.
 */
async function findNameless(page: Page): Promise<readonly string[]> {
  const found = await page
    .locator('main :is(button, summary, a:not(.name))')
    .evaluateAll((elements: readonly Labelled[]) =>
      elements.flatMap((element, index) => {
        const text = element.innerText.trim()
        const ids = element.getAttribute('aria-labelledby')?.split(' ')
        // An id that nothing has, or something without a text, adds nothing to the name.
        const isLabelled = ids?.every((id) => element.ownerDocument.getElementById(id)?.innerText.trim()) === true
        if (text === '' || isLabelled || element.getAttribute('aria-label') !== null) return []
        return [{ name: `${element.tagName} ${text}`, target: element.getAttribute('href') ?? String(index) }]
      }),
    )
  const names = Map.groupBy(found, ({ name }) => name)
  return [...names].flatMap(([name, same]) => (new Set(same.map(({ target }) => target)).size > 1 ? [name] : []))
}
