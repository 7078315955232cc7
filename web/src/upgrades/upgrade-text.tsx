import { Link } from '@tanstack/react-router'
import { useMay } from '../accounts/self.ts'
import { partsOf, plainText, shortName } from './linked-text.ts'

interface UpgradeTextProps {
  readonly orgId: string
  readonly text: string
}

/** A text of the server. The upgrades that it names lead to their pages, which roles in single sites do not reach. */
export function UpgradeText({ orgId, text }: UpgradeTextProps) {
  const mayOpen = useMay('read', { orgId })
  if (!mayOpen) return plainText(text)
  return partsOf(text).map((part) =>
    typeof part === 'string' ? (
      part
    ) : (
      <Link
        key={part.upgradeId}
        className="in-text"
        to="/orgs/$orgId/upgrades/$upgradeId"
        params={{ orgId, upgradeId: part.upgradeId }}
      >
        {shortName(part)}
      </Link>
    ),
  )
}
