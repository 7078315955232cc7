import type { LoadedChoices } from '../../display/forms/choices.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'

/** The properties of the fields that choose what is upgraded. */
export interface ChooseFieldsProps extends WizardFieldsProps {
  readonly orgId: string
  /** The routers or appliances that an upgrade may name. */
  readonly members: LoadedChoices
}
