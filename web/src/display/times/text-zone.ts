import { createContext, use } from 'react'

/**
 * The zone of the texts and fields of a page, such as refusals and effects: that of the site on pages of a site, and the one that the
 * sites of an upgrade or of its plan share. Undefined: that of the viewer.
 */
export const TextZone = createContext<string | undefined>(undefined)

export function useTextZone(): string | undefined {
  return use(TextZone)
}
