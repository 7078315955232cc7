import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { Button } from '../../display/forms/button.tsx'
import { useMay } from '../../accounts/self.ts'
import { fieldPathIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { EmptyState, ProblemNote } from '../../display/layout/notices.tsx'
import { failureOf } from '../../display/layout/load-failure.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { useSites } from '../../orgs/sites.ts'
import { ChoosePanel } from './choose-panel.tsx'
import { kinds } from '../overview.ts'
import { type Draft, settle } from './draft.ts'
import { PlanChangesNote, PlanPanel } from './plan-panel.tsx'
import { startEffect } from './plan-text.ts'
import { type UpgradeRequest, requestOf } from './request.ts'
import { type DraftChange, StrategyPanel } from './strategy-panel.tsx'
import { useMembers } from './use-members.ts'
import { usePlan } from './use-plan.ts'
import { localText } from '../../display/times/local-text.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades/new')

/** True for fields of the request that the page shows; messages about others appear above the buttons. */
function hasField({ body }: UpgradeRequest, field: string): boolean {
  return field === 'version' || field === 'site_ids' || field === 'channel' || Object.hasOwn(body, field)
}

/** Describes an upgrade, shows its plan, and starts that plan. */
export function WizardPage() {
  const { orgId } = route.useParams()
  const draft = route.useSearch()
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/new' })
  const mayUpgrade = useMay('write', { orgId })
  const sites = useSites(orgId).data
  const { kind } = settle(draft)
  const members = useMembers(orgId, kind)
  const loadedMembers = { choices: members.data, failure: failureOf([members]) }
  const request = requestOf(
    draft,
    members.data?.map(({ value }) => value),
  )
  const { plan, problem, refusal, changes, isPlanning, previewPlan, startPlan } = usePlan({
    ...{ orgId, request },
    members: members.data ?? [],
  })
  const fields = useFocusOnRefusal<HTMLDivElement>(refusal)
  // Fields of the page stand for those of each gate.
  const exact = problem === null ? null : fieldPathIn(problem.message)
  const path = exact?.replaceAll(/\.\d+/g, '') ?? null
  const field = path?.split('.', 1)[0] ?? null
  const errorOf = (...fields: readonly string[]): string | null =>
    problem !== null && fields.some((one) => [field, path, exact].includes(one)) ? localText(problem.message) : null
  const change = (changed: DraftChange): void =>
    void navigate({ search: (current) => withoutAbsent({ ...current, ...changed }), replace: true })
  const title = (
    <PageTitle
      title="New upgrade"
      call={{ path: `/orgs/${orgId}${kinds[kind].path}`, body: { ...request.body, dry_run: true } }}
      above={
        <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
          Upgrades
        </Link>
      }
    />
  )
  if (!mayUpgrade)
    return (
      <>
        {title}
        <EmptyState title="Your role does not start upgrades">An admin of the organization can.</EmptyState>
      </>
    )
  return (
    <>
      {title}
      <div ref={fields}>
        <ChoosePanel {...{ orgId, draft, errorOf, members: loadedMembers }} onChange={change} />
        <StrategyPanel draft={draft} errorOf={errorOf} onChange={change} />
      </div>
      {changes !== null && plan !== undefined && <PlanChangesNote changes={changes} sites={sites} />}
      {plan !== undefined && <PlanPanel orgId={orgId} draft={draft} plan={plan} sites={sites} />}
      {(field === null || !hasField(request, field)) && <ProblemNote problem={problem} />}
      <div className="wizard-buttons">
        <Button
          {...(plan !== undefined && { variant: 'default' })}
          size="xs"
          isBusy={isPlanning || members.isPending}
          onClick={() => {
            if (isComplete(fields.current)) previewPlan()
          }}
        >
          {plan === undefined ? 'Preview the plan' : 'Preview again'}
        </Button>
        {plan !== undefined && plan.total > 0 && (
          <ConfirmButton
            action="Start the upgrade"
            isPrimary
            effect={startEffect(draft, plan)}
            mayOpen={() => isComplete(fields.current)}
            run={() => startPlan(plan.id)}
          />
        )}
      </div>
    </>
  )
}

/** A time of which a part is missing has no value, as an empty field. The browser leads to it and says so. */
function isComplete(fields: HTMLElement | null): boolean {
  return fields?.querySelector<HTMLInputElement>('input:invalid')?.reportValidity() ?? true
}

function withoutAbsent(change: DraftChange): Draft {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}
