import type { Choice } from '../../display/forms/choice-list.tsx'
import type { Site } from '../../orgs/sites.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'

/** The properties of the fields that choose what is upgraded. */
export interface ChooseFieldsProps extends WizardFieldsProps {
  readonly orgId: string
  readonly sites: ReadonlyMap<string, Site> | undefined
  /** The routers or appliances that an upgrade may name. */
  readonly members: readonly Choice[]
}
