// SPDX-License-Identifier: MIT
// An object with one signal, for Qt's compiler of such objects.
#pragma once

#include <QObject>

#include "../../bus/parts.hh"

class emitter : public QObject {
  Q_OBJECT

 signals:
  void raised(parts::message* m, unsigned n);
};
