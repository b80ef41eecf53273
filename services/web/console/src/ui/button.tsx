import type { ReactNode } from 'react';
import {
  Button as AriaButton,
  type ButtonProps as AriaButtonProps,
  Link as AriaLink,
  type LinkProps as AriaLinkProps,
  Tooltip,
  TooltipTrigger,
} from 'react-aria-components';
import { Icon, type IconName } from './icon';
import './button.css';

/** `primary`: the main action of a page or dialog; there is one. `danger` destroys something. `quiet` has no border. */
type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

interface Look {
  readonly kind?: Kind;
  readonly icon?: IconName;
  readonly children?: ReactNode;
}

export interface ButtonProps extends Omit<AriaButtonProps, 'children' | 'className'>, Look {}

/** A button. With `isPending` it shows that the answer is coming, and ignores further presses. */
export const Button = ({ kind = 'plain', icon, children, ...props }: ButtonProps) => (
  <AriaButton {...props} className={`button ${kind}`}>
    {props.isPending ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
    {children && <span>{children}</span>}
  </AriaButton>
);

/** A link that looks like a button. */
export const LinkButton = ({
  kind = 'plain',
  icon,
  children,
  ...props
}: Omit<AriaLinkProps, 'children' | 'className'> & Look) => (
  <AriaLink {...props} className={`button ${kind}`}>
    {icon && <Icon name={icon} />}
    {children && <span>{children}</span>}
  </AriaLink>
);

/** A button with only an icon. Its label is its name and its tooltip. */
export const IconButton = ({
  label,
  icon,
  kind = 'quiet',
  ...props
}: Omit<ButtonProps, 'children' | 'icon'> & { readonly label: string; readonly icon: IconName }) => (
  <TooltipTrigger delay={500}>
    <AriaButton {...props} aria-label={label} className={`button icon-only ${kind}`}>
      <Icon name={icon} />
    </AriaButton>
    <Tooltip className="tooltip">{label}</Tooltip>
  </TooltipTrigger>
);
