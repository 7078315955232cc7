/** What the page shows elsewhere, and what people can't configure. */
const facts = new Set(['id', 'org_id', 'site_id', 'mac', 'serial', 'model', 'type', 'created_time', 'modified_time'])

/** Returns the fields of a device that people configure, in the order of their names. */
export function configOf(device: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept = Object.entries(device).filter(([name]) => !facts.has(name))
  return Object.fromEntries(kept.toSorted(([one], [other]) => one.localeCompare(other, 'en')))
}
