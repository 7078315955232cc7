/** Markup in which every value has been escaped. Only `html` creates it. */
export interface Html {
  readonly markup: string
}

/**
 * Renders a template literal as markup. Texts in it are escaped; `Html` values and lists of them are inserted
 * unchanged.
 */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  return { markup: parts.reduce((markup, part, index) => markup + markupOf(values[index - 1] ?? '') + part) }
}

function markupOf(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return escape(value)
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}
