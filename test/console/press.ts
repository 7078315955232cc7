import type { Page } from 'playwright-core'

/**
 * Does what a button offers, and confirms it.
 * @param effect What the dialog says.
 */
export async function press(page: Page, action: string, effect?: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await page
    .getByRole('button', { name: `${action}…` })
    .first()
    .click()
  if (effect !== undefined) await dialog.getByText(effect).waitFor()
  await dialog.getByRole('button', { name: action, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}
