import type { ReactNode } from 'react';
import {
  Dialog as AriaDialog,
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  Heading,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  Separator,
} from 'react-aria-components';
import { useTexts } from '../texts/texts';
import { Button, IconButton } from './button';
import { Icon, type IconName } from './icon';
import './overlay.css';

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons at the end; the last one is the main action. */
  readonly footer?: ReactNode;
  /** `side`: a panel at the edge of the page. */
  readonly size?: 'small' | 'large' | 'side';
  /** Whether the page stays behind it until an action is chosen. */
  readonly isDismissable?: boolean;
}

/** A dialog over the page. On a phone it fills the screen. */
export const Dialog = ({
  title,
  isOpen,
  onClose,
  children,
  footer,
  size = 'small',
  isDismissable = true,
}: DialogProps) => {
  const t = useTexts();
  return (
    <ModalOverlay
      className="backdrop"
      isOpen={isOpen}
      isDismissable={isDismissable}
      isKeyboardDismissDisabled={!isDismissable}
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className={`modal ${size}`}>
        <AriaDialog className="dialog">
          <header className="dialog-header">
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {isDismissable && <IconButton label={t.common.close} icon="close" onPress={onClose} />}
          </header>
          <div className="dialog-body">{children}</div>
          {footer && <footer className="dialog-footer">{footer}</footer>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
};

interface ConfirmProps extends Pick<DialogProps, 'title' | 'isOpen' | 'onClose' | 'children'> {
  readonly action: string;
  readonly onConfirm: () => void;
  readonly isPending?: boolean;
}

/** Asks before something that cannot be undone. What can be undone is done at once, with an undo in its message. */
export function Confirm({ action, onConfirm, isPending = false, onClose, ...props }: ConfirmProps) {
  const t = useTexts();
  return (
    <Dialog
      {...props}
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button kind="danger" onPress={onConfirm} isPending={isPending}>
            {action}
          </Button>
        </>
      }
    />
  );
}

export interface MenuAction {
  readonly id: string;
  readonly label: string;
  readonly icon?: IconName;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly href?: string;
  readonly target?: string;
  readonly onAction?: () => void;
}

interface MenuProps {
  /** The button that opens the menu. */
  readonly trigger: ReactNode;
  readonly label: string;
  /** `'-'` is a line between groups. */
  readonly items: readonly (MenuAction | '-')[];
}

/** A menu of actions behind a button. */
export const Menu = ({ trigger, label, items }: MenuProps) => (
  <MenuTrigger>
    {trigger}
    <Popover className="popover" placement="bottom end">
      <AriaMenu className="list-box" aria-label={label}>
        {items.map((item, index) =>
          item === '-' ? (
            <Separator key={`line-${String(index)}`} className="list-line" />
          ) : (
            <AriaMenuItem
              key={item.id}
              id={item.id}
              className={item.isDanger ? 'list-item danger' : 'list-item'}
              isDisabled={item.isDisabled ?? false}
              textValue={item.label}
              {...(item.href && { href: item.href, target: item.target ?? '_self' })}
              {...(item.onAction && { onAction: item.onAction })}
            >
              {item.icon && <Icon name={item.icon} />}
              <span>{item.label}</span>
            </AriaMenuItem>
          ),
        )}
      </AriaMenu>
    </Popover>
  </MenuTrigger>
);
